import { type ReactNode, useState } from 'react';
import type { AgentTask } from '@agentfleet/protocol/api';
import { useAct } from '../../base/hooks.ts';
import { send, taskPath } from '../../base/api.ts';
import { useSession } from '../../base/place.ts';
import { bytes, longestWords, span } from '../../base/text.ts';
import { Confirm, Trouble } from '../../parts/bits.tsx';
import { DiffView } from '../../parts/diffView.tsx';
import { Output, plain } from '../../parts/output.tsx';

type Pending = NonNullable<NonNullable<NonNullable<AgentTask['status']>['run']>['pendingApproval']>;

const titles = {
  Act: 'An act waits for your decision',
  Question: 'The agent asks you',
  Review: 'The result waits for your review',
} as const;

function Buttons(props: { readonly task: AgentTask; readonly pending: Pending; readonly onDone: () => void }): ReactNode {
  const { namespace = '', name } = props.task.metadata;
  const { action, kind = 'Act', summary } = props.pending;
  const { busy, error, said, act } = useAct(props.onDone);
  const [text, setText] = useState('');
  const [sure, setSure] = useState<'Approve' | 'Reject'>();
  const order = (type: string, more: object, said: string): void =>
    act(() => send('POST', taskPath(namespace, name, '/orders'), { type, action, ...more }), said);
  if (said !== '') return <p className="notice good">{said}</p>;
  return (
    <>
      <label htmlFor="decision">{kind === 'Question' ? 'Your answer' : 'Why, for the record and for the agent'}</label>
      <textarea
        id="decision"
        rows={kind === 'Question' ? 3 : 2}
        maxLength={longestWords}
        value={text}
        onChange={({ target }) => setText(target.value)}
      />
      <div className="buttons">
        {kind === 'Question' ? (
          <button
            type="button"
            className="primary"
            disabled={busy || text.trim() === ''}
            onClick={() => order('Answer', { message: text }, 'Your answer goes to the agent.')}
          >
            Answer
          </button>
        ) : (
          <>
            <button type="button" className="primary" disabled={busy} onClick={() => setSure('Approve')}>
              {kind === 'Review' ? 'Accept' : 'Approve'}
            </button>
            <button type="button" className="danger" disabled={busy} onClick={() => setSure('Reject')}>
              Reject
            </button>
          </>
        )}
      </div>
      {error !== undefined && <Trouble what="That did not work:" error={error} />}
      {sure !== undefined && (
        <Confirm
          title={`${sure} this ${kind === 'Review' ? 'result' : 'act'}?`}
          action={sure}
          danger={sure === 'Reject'}
          onNo={() => setSure(undefined)}
          onYes={() => {
            setSure(undefined);
            order(sure, { reason: text }, sure === 'Approve' ? 'Approved: it goes on.' : 'Rejected: the agent is told so.');
          }}
        >
          <p>{plain(summary)}</p>
          <p className="muted">It is recorded under your name. A decision stands.</p>
        </Confirm>
      )}
    </>
  );
}

/** Shows the act, question or result that waits for a person, with the evidence beside the buttons. */
export function Decide({ task, now, onDone }: { readonly task: AgentTask; readonly now: number; readonly onDone: () => void }): ReactNode {
  const { readOnly } = useSession();
  const pending = task.status?.finished === 'true' ? undefined : task.status?.run?.pendingApproval;
  if (pending === undefined) return null;
  const decision = task.status?.approvals?.find(({ action }) => action === pending.action);
  const { kind = 'Act', summary, question, evidence, expires } = pending;
  const whole = task.status?.run?.artifacts?.find(({ sha256 }) => pending.action === `sha256:${sha256}`);
  const left = Date.parse(expires) - now;
  return (
    <section className="decide" aria-label={titles[kind]}>
      <div>
        <h2>{titles[kind]}</h2>
        <Output text={question ?? summary} />
        {question !== undefined && question !== summary && <p className="muted">{plain(summary)}</p>}
        {whole !== undefined && (
          <p>
            <a
              href={taskPath(task.metadata.namespace ?? '', task.metadata.name, `/artifacts/${encodeURIComponent(whole.name)}`)}
              download={whole.name}
            >
              The whole act, {bytes(whole.bytes)}
            </a>
          </p>
        )}
        {evidence !== undefined && (
          <>
            <h3>Why it is held</h3>
            {evidence.startsWith('diff --git ') ? <DiffView patch={evidence} /> : <p className="evidence">{plain(evidence)}</p>}
          </>
        )}
        <p className="muted small">
          {left > 0 ? `${span(left)} left, then it counts as ${kind === 'Question' ? 'not answered' : 'rejected'}` : 'The time is over.'}
        </p>
      </div>
      <div>
        {decision !== undefined ? (
          <p className="notice good">
            {decision.decision} by {decision.requester ?? 'nobody in time'}; the worker takes it up.
          </p>
        ) : readOnly ? (
          <p className="muted">
            This dashboard is read-only: decide with <code>fleet</code> or kubectl.
          </p>
        ) : (
          <Buttons key={pending.action} task={task} pending={pending} onDone={onDone} />
        )}
      </div>
    </section>
  );
}
