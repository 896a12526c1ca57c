/** Pools: which models answer, where they sit, what they cost, and what found no place. */
import { type ReactNode, useMemo } from 'react';
import type { ExpertPool, ExpertScale } from '@agentfleet/protocol/api';
import type { TaskRow } from '../../../../src/base/wire.ts';
import { type PoolOf, poolsOf, type Tone } from '../../base/fleet.ts';
import { useFleet } from '../../base/store.ts';
import { bytes, duration, money, short } from '../../base/text.ts';
import { Badge, Empty, Panel } from '../../parts/bits.tsx';
import { plain } from '../../parts/output.tsx';
import { placedOf, SlotBars } from './slots.tsx';

type Expert = ExpertPool['spec']['experts'][number];
type State = NonNullable<NonNullable<ExpertPool['status']>['experts']>[number];

const tones = { Ready: 'good', Starting: 'run', Degraded: 'wait', Unavailable: 'bad', Scaled: 'idle' } as const satisfies Record<
  State['phase'],
  Tone
>;

/** The model behind an expert, as its spec names it. */
function modelOf({ engine, artifact }: Expert): string {
  if (engine.type === 'OpenAI' || engine.type === 'Anthropic') return `${engine.api?.model ?? ''} at ${hostOf(engine.api?.baseURL)}`;
  if (engine.type === 'Adapter') return `adapter of ${engine.adapter?.base ?? ''}`;
  if (engine.type === 'Harness') return engine.harness?.command?.[0] ?? '';
  return artifact?.uri ?? '';
}

function hostOf(url: string | undefined): string {
  try {
    return new URL(url ?? '').host;
  } catch {
    return url ?? '';
  }
}

function priceOf({ engine }: Expert): string {
  const price = 'api' in engine ? engine.api.price : undefined;
  return price === undefined ? '' : `${price.input} in, ${price.output} out`;
}

/** Half of the answers of the last minutes, and 95 of a hundred. */
const timesOf = (latency: State['latency']): readonly string[] =>
  latency === undefined ? [] : [`p50 ${duration(latency.p50Ms)}`, `p95 ${duration(latency.p95Ms)}`];

/** Pods that an ExpertScale asks for, which take the place of those of the pool. */
function Scale({ scale }: { readonly scale: ExpertScale | undefined }): ReactNode {
  if (scale === undefined) return null;
  const granted = scale.status?.granted;
  return <p className="muted small">{`${scale.spec.replicas} asked${granted === undefined ? '' : `, ${granted} granted`}`}</p>;
}

function Experts({ pool, scales }: { readonly pool: ExpertPool; readonly scales: readonly ExpertScale[] }): ReactNode {
  const { metadata, spec, status } = pool;
  const own = scales.filter((scale) => scale.metadata.namespace === metadata.namespace && scale.spec.poolRef.name === metadata.name);
  const states = new Map(status?.experts?.map((state) => [state.name, state]));
  return (
    <div className="scroll" tabIndex={0} role="region" aria-label="Table of experts">
      <table className="table unfolding">
        <thead>
          <tr>
            <th>Expert</th>
            <th>Model</th>
            <th>State</th>
            <th className="right">Pods</th>
            <th>Time to answer</th>
            <th>Memory: reckoned, measured</th>
            <th>Price of 1 M tokens</th>
          </tr>
        </thead>
        <tbody>
          {spec.experts.map((expert) => {
            const state = states.get(expert.name);
            return (
              <tr key={expert.name}>
                <td>
                  <strong>{expert.name}</strong> <span className="muted">{expert.role}</span>
                </td>
                <td>
                  {expert.engine.type} <span className="muted">{plain(modelOf(expert))}</span>
                </td>
                <td>
                  {state === undefined ? (
                    <span className="muted">not reported</span>
                  ) : (
                    <Badge tone={tones[state.phase]}>{state.phase}</Badge>
                  )}
                  {state?.message !== undefined && state.phase !== 'Ready' && <p className="muted small">{plain(state.message)}</p>}
                </td>
                <td className="right" data-label="Pods">
                  {state === undefined ? '–' : `${state.ready}/${state.replicas}`}
                  <Scale scale={own.find((scale) => scale.spec.expert === expert.name)} />
                </td>
                <td data-label="Time to answer">
                  {timesOf(state?.latency).map((text) => (
                    <span key={text} className="nowrap">
                      {`${text} `}
                    </span>
                  ))}
                </td>
                <td data-label="Memory: reckoned, measured">
                  {state?.memory !== undefined && `${bytes(state.memory.estimated ?? 0)}, ${bytes(state.memory.measured ?? 0)}`}
                </td>
                <td data-label="Price of 1 M tokens">{priceOf(expert)}</td>
              </tr>
            );
          })}
        </tbody>
      </table>
    </div>
  );
}

function Troubles({ conditions }: { readonly conditions: NonNullable<ExpertPool['status']>['conditions'] }): ReactNode {
  const bad = (conditions ?? []).filter(({ type, status }) =>
    type === 'Stalled' || type === 'Reconciling' ? status === 'True' : status === 'False',
  );
  return bad.map(({ type, reason, message }) => (
    <p key={type} className="notice wait">
      <strong>
        {type}: {reason}.
      </strong>{' '}
      {plain(message)}
    </p>
  ));
}

interface Spent {
  readonly tokens: number;
  readonly cost: number;
}

/** Returns the tokens and the cost that the tasks of each pool have used. */
function spendingOf(rows: Iterable<TaskRow>, poolOf: PoolOf): ReadonlyMap<string, Spent> {
  const sums = new Map<string, Spent>();
  for (const row of rows) {
    const pool = poolOf(row);
    if (pool === undefined) continue;
    const sum = sums.get(pool) ?? { tokens: 0, cost: 0 };
    sums.set(pool, { tokens: sum.tokens + row.tokens, cost: sum.cost + Number(row.cost ?? 0) });
  }
  return sums;
}

function Facts({ items }: { readonly items: readonly (readonly [name: string, value: string])[] }): ReactNode {
  return (
    <dl className="facts">
      {items.map(([name, value]) => (
        <div key={name}>
          <dt>{name}</dt>
          <dd>{value}</dd>
        </div>
      ))}
    </dl>
  );
}

function PoolView({
  pool,
  scales,
  spent,
}: {
  readonly pool: ExpertPool;
  readonly scales: readonly ExpertScale[];
  readonly spent: Spent | undefined;
}): ReactNode {
  const { metadata, status } = pool;
  const ready = status?.conditions?.find(({ type }) => type === 'Ready');
  const warm = status?.sandboxes;
  return (
    <Panel
      title={`${metadata.namespace ?? ''}/${metadata.name}`}
      aside={
        ready !== undefined && (
          <Badge tone={ready.status === 'True' ? 'good' : 'wait'}>{ready.status === 'True' ? 'Ready' : ready.reason}</Badge>
        )
      }
    >
      <Facts
        items={[
          ['Running', String(status?.running ?? 0)],
          ['Queued', String(status?.queued ?? 0)],
          ['Workers', status?.workers === undefined ? '–' : `${status.workers.ready} of ${status.workers.replicas}`],
          ['Warm sandboxes', warm === undefined ? '–' : `${warm.warm}, ${warm.starting} starting`],
          ['Tokens', short(spent?.tokens ?? 0)],
          ['Cost', spent === undefined || spent.cost === 0 ? '–' : money(spent.cost)],
        ]}
      />
      <Troubles conditions={status?.conditions} />
      <Experts pool={pool} scales={scales} />
    </Panel>
  );
}

export function PoolsScreen(): ReactNode {
  const { objects, states } = useFleet();
  const spending = useMemo(
    () => spendingOf(objects.AgentTask.values(), poolsOf(objects.ExpertPool.values())),
    [objects.AgentTask, objects.ExpertPool],
  );
  const pools = [...objects.ExpertPool.values()].sort((a, b) => (a.metadata.name < b.metadata.name ? -1 : 1));
  const scales = [...objects.ExpertScale.values()];
  const placed = placedOf(pools, [...objects.EnergyModel.values()]);
  const state = states.find(({ kind }) => kind === 'ExpertPool');
  return (
    <div className="stacked">
      <h1>Pools</h1>
      {pools.length === 0 && (
        <Empty title={state?.state === 'Loading' ? 'Loading …' : 'No pools to see'}>
          {state?.state === 'Denied'
            ? 'You may not read ExpertPools in these namespaces; ask for the ClusterRole agentfleet-viewer there.'
            : 'A pool declares models, workers and sandboxes; the platform’s may be in another namespace: name it under “in”.'}
        </Empty>
      )}
      {pools.map((pool) => {
        const key = `${pool.metadata.namespace ?? ''}/${pool.metadata.name}`;
        return <PoolView key={key} pool={pool} scales={scales} spent={spending.get(key)} />;
      })}
      {placed.some(({ plan }) => plan.assignments.length + (plan.rejected?.length ?? 0) > 0) && <SlotBars placed={placed} />}
    </div>
  );
}
