/** All tasks: what needs a person, what runs, how it goes, and the list. */
import { type ReactNode, useMemo } from 'react';
import { Link } from 'wouter';
import type { TaskRow } from '../../../../src/base/wire.ts';
import { filterOf, isOver, matching, ordered, poolsOf, summarise } from '../../base/fleet.ts';
import { useNow, useParams } from '../../base/hooks.ts';
import { useFleet } from '../../base/store.ts';
import { ago, span } from '../../base/text.ts';
import { Empty, Panel } from '../../parts/bits.tsx';
import { plain } from '../../parts/output.tsx';
import { Filters } from './filters.tsx';
import { TaskList } from './list.tsx';
import { Summary } from './summary.tsx';

const asks = { Act: 'approve', Question: 'answer', Review: 'review' } as const;

/** Lists the tasks that wait for a person, soonest end first, and those that cannot go on by themselves. */
function Attention({ rows, now }: { readonly rows: readonly TaskRow[]; readonly now: number }): ReactNode {
  const waiting = rows.filter(({ waits }) => waits !== undefined).sort((a, b) => a.waits!.expires - b.waits!.expires);
  const stuck = rows
    .filter((row) => row.stuck !== undefined && row.waits === undefined && !isOver(row))
    .sort((a, b) => a.created - b.created);
  if (waiting.length + stuck.length === 0) return null;
  const most = 4;
  return (
    <Panel title="Needs a person" className="attention" aside={<span className="muted">{waiting.length + stuck.length}</span>}>
      <ul>
        {waiting.slice(0, most).map(({ key, namespace, name, waits }) => (
          <li key={key}>
            <span className="kind wait">{asks[waits!.kind]}</span>
            <span className="what">
              <Link href={`/tasks/${key}`}>
                {name} <span className="muted">{namespace}</span>
              </Link>
              <span className="summary">{plain(waits!.summary)}</span>
            </span>
            <span className="when">{waits!.expires > now ? `${span(waits!.expires - now)} left` : 'over'}</span>
          </li>
        ))}
        {stuck.slice(0, Math.max(1, most - waiting.length)).map(({ key, namespace, name, stuck, created }) => (
          <li key={key}>
            <span className="kind bad">stuck</span>
            <span className="what">
              <Link href={`/tasks/${key}`}>
                {name} <span className="muted">{namespace}</span>
              </Link>
              <span className="summary">
                <strong>{stuck!.reason}</strong> {plain(stuck!.message)}
              </span>
            </span>
            <span className="when">{ago(created, now)}</span>
          </li>
        ))}
      </ul>
      {waiting.length > most && <p className="muted small">and {waiting.length - most} more, first in the list below</p>}
    </Panel>
  );
}

function Nothing({ any, loading, onClear }: { readonly any: boolean; readonly loading: boolean; readonly onClear: () => void }): ReactNode {
  if (any)
    return (
      <Empty title="No task fits the filters">
        <button type="button" className="link" onClick={onClear}>
          Clear them
        </button>
      </Empty>
    );
  if (loading) return <Empty title="Loading the fleet …" />;
  return (
    <Empty title="No tasks yet">
      <Link href="/new">Write the first one</Link>, or apply one: <code>kubectl apply -f task.yaml</code>
    </Empty>
  );
}

export function FleetScreen(): ReactNode {
  const { objects, states } = useFleet();
  const now = useNow();
  const [params, change] = useParams();
  const filter = useMemo(() => filterOf(params), [params]);
  const all = useMemo(() => [...objects.AgentTask.values()], [objects.AgentTask]);
  const sorted = useMemo(() => ordered(all, filter.sort), [all, filter.sort]);
  const poolOf = useMemo(() => poolsOf(objects.ExpertPool.values()), [objects.ExpertPool]);
  const rows = useMemo(() => matching(sorted, filter, poolOf), [sorted, filter, poolOf]);
  const summary = useMemo(() => summarise(all), [all]);
  const loading = states.find(({ kind }) => kind === 'AgentTask')?.state !== 'Live';
  return (
    <div className="fleet">
      <h1 className="visually-hidden">Fleet</h1>
      <Summary summary={summary} now={now} />
      <Attention rows={all} now={now} />
      <Filters all={all} poolOf={poolOf} summary={summary} filter={filter} shown={rows.length} onChange={change} />
      {rows.length === 0 ? (
        <Nothing any={all.length > 0} loading={loading} onClear={() => change({ q: '', phase: '', class: '', ns: '', pool: '' })} />
      ) : (
        <TaskList rows={rows} now={now} />
      )}
    </div>
  );
}
