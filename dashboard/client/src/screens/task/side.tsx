import type { ReactNode } from 'react';
import type { AgentTask } from '@agentfleet/protocol/api';
import { ago, money, percent, short, span } from '../../base/text.ts';
import { Fact, Panel } from '../../parts/bits.tsx';
import { Meter } from '../../parts/charts.tsx';
import { plain } from '../../parts/output.tsx';

type Part = { readonly task: AgentTask; readonly now: number };

function Used({
  name,
  used,
  most,
  show,
}: {
  readonly name: string;
  readonly used: number;
  readonly most: number | undefined;
  readonly show: (value: number) => string;
}): ReactNode {
  const share = most === undefined || most === 0 ? 0 : used / most;
  return (
    <Fact name={name}>
      {show(used)}
      {most !== undefined && <span className="muted"> of {show(most)}</span>}
      {most !== undefined && (
        <Meter value={share} tone={share > 0.9 ? 'bad' : share > 0.7 ? 'wait' : 'run'} label={`${name}: ${percent(share)} of the budget`} />
      )}
    </Fact>
  );
}

function Budget({ task: { spec, status } }: Part): ReactNode {
  const usage = status?.totals?.usage ?? status?.run?.usage;
  const { budget } = spec;
  return (
    <Panel title="Spent">
      <dl>
        <Used name="Tokens" used={(usage?.tokensIn ?? 0) + (usage?.tokensOut ?? 0)} most={budget?.tokens} show={short} />
        {(usage?.cost !== undefined || budget?.cost !== undefined) && (
          <Used
            name="Cost"
            used={Number(usage?.cost ?? 0)}
            most={budget?.cost === undefined ? undefined : Number(budget.cost)}
            show={money}
          />
        )}
        <Used name="Acts" used={usage?.toolCalls ?? 0} most={budget?.toolCalls} show={String} />
        <Used
          name="Time"
          used={(usage?.wallSeconds ?? 0) * 1000}
          most={budget?.wallSeconds === undefined ? undefined : budget.wallSeconds * 1000}
          show={span}
        />
        <Fact name="Candidates">
          {usage?.candidates ?? 0} judged, {usage?.vetoes ?? 0} vetoed, {usage?.backtracks ?? 0} taken back
        </Fact>
      </dl>
    </Panel>
  );
}

const marks = { Pending: '○', Running: '◐', Done: '●', Failed: '✕', Dropped: '–' } as const;

function Plan({ task: { status } }: Part): ReactNode {
  const plan = status?.run?.plan ?? [];
  if (plan.length === 0) return null;
  const depth = (id: string): number => Math.min(6, id.split('.').length - 1);
  return (
    <Panel
      title="Plan"
      aside={
        <span className="muted small">
          {plan.filter(({ state }) => state === 'Done').length} of {plan.length} done
        </span>
      }
    >
      <ol className="plan">
        {plan.map(({ id, intent, state }) => (
          <li key={id} className={`${state} depth-${depth(id)}`}>
            <span className="mark" role="img" aria-label={state}>
              {marks[state]}
            </span>
            <span>{plain(intent)}</span>
          </li>
        ))}
      </ol>
    </Panel>
  );
}

function Where({ task: { metadata, spec, status }, now }: Part): ReactNode {
  const { assignment, run, queue } = status ?? {};
  const pool =
    spec.poolRef === undefined ? 'default of the namespace' : `${spec.poolRef.namespace ?? metadata.namespace ?? ''}/${spec.poolRef.name}`;
  return (
    <Panel title="Where it runs">
      <dl>
        <Fact name="Pool">{pool}</Fact>
        {queue !== undefined && assignment === undefined && (
          <Fact name="Queue">
            {queue.position === undefined ? 'not for a slot' : `${queue.position} before it`}
            {queue.since !== undefined && `, for ${ago(Date.parse(queue.since), now)}`}
          </Fact>
        )}
        {assignment !== undefined && (
          <>
            <Fact name="Attempt">
              {assignment.attempt} of {spec.attempts?.max ?? '?'} <span className="muted">epoch {assignment.epoch}</span>
            </Fact>
            <Fact name="Worker">{assignment.worker}</Fact>
            <Fact name="Sandbox">
              {assignment.sandbox} {assignment.warm && <span className="badge-text">warm</span>}
            </Fact>
            {assignment.revision !== undefined && <Fact name="Revision">{assignment.revision}</Fact>}
          </>
        )}
        {run?.isolation !== undefined && (
          <Fact name="Wall">
            {run.isolation.level}, network {run.isolation.network}
          </Fact>
        )}
        {run?.experts !== undefined && <Fact name="Experts">{run.experts.map(({ name, role }) => `${name} (${role})`).join(', ')}</Fact>}
      </dl>
    </Panel>
  );
}

function Conditions({ task: { status } }: Part): ReactNode {
  const conditions = status?.conditions ?? [];
  if (conditions.length === 0) return null;
  return (
    <Panel title="Conditions">
      <ul className="conditions">
        {conditions.map(({ type, status, reason, message }) => (
          <li key={type} className={status}>
            <details>
              <summary>
                <span className="mark" role="img" aria-label={status}>
                  {{ True: '✓', False: '✕', Unknown: '?' }[status]}
                </span>
                {type} <span className="muted">{reason}</span>
              </summary>
              <p>{plain(message)}</p>
            </details>
          </li>
        ))}
      </ul>
    </Panel>
  );
}

/** Shows the panels beside every tab. */
export function Side(props: Part): ReactNode {
  const { run } = props.task.status ?? {};
  return (
    <aside className="side">
      {run?.outcome !== undefined && (
        <Panel title="Outcome">
          <p>
            <strong>{run.outcome.result}</strong>{' '}
            {run.outcome.class !== undefined && <span className="badge-text">{run.outcome.class}</span>}
          </p>
          <p className="muted">{plain(run.outcome.message ?? run.outcome.reason)}</p>
        </Panel>
      )}
      {run?.answer !== undefined && (
        <Panel title="Answer">
          <p className="answer">{plain(run.answer)}</p>
        </Panel>
      )}
      {run?.output !== undefined && (
        <Panel title="Delivered">
          <p>
            Branch <code>{plain(run.output.branch)}</code>
            {run.output.pullRequest !== undefined && /^https?:\/\//.test(run.output.pullRequest) && (
              <>
                {' '}
                <a href={run.output.pullRequest} rel="noreferrer noopener" target="_blank">
                  pull request
                </a>
              </>
            )}
          </p>
          {run.output.message !== undefined && <p className="muted">{plain(run.output.message)}</p>}
        </Panel>
      )}
      <Plan {...props} />
      <Budget {...props} />
      <Where {...props} />
      <Conditions {...props} />
    </aside>
  );
}
