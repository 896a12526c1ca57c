/** Totals of the list of tasks, and the tasks that a filter leaves. Pure. */
import type { ExpertPool, Phase } from '@agentfleet/protocol/api';
import type { TaskRow } from '../../../src/base/wire.ts';

export type Tone = 'idle' | 'wait' | 'run' | 'good' | 'bad';
/** Every phase, in the order of a life, with its tone. */
export const tones = {
  AwaitingApproval: 'wait',
  Pending: 'idle',
  Queued: 'idle',
  Preparing: 'run',
  Running: 'run',
  Verifying: 'run',
  RollingBack: 'bad',
  Suspended: 'wait',
  Succeeded: 'good',
  Failed: 'bad',
  Cancelled: 'idle',
} as const satisfies Readonly<Record<Phase, Tone>>;
export const phases = Object.keys(tones) as Phase[];
export const isOver = ({ phase }: TaskRow): boolean => phase === 'Succeeded' || phase === 'Failed' || phase === 'Cancelled';

export interface Filter {
  readonly q: string;
  readonly phase: string;
  readonly failure: string;
  readonly ns: string;
  readonly pool: string;
  readonly sort: string;
}

export function filterOf(search: URLSearchParams): Filter {
  const text = (name: string): string => search.get(name) ?? '';
  return { q: text('q'), phase: text('phase'), failure: text('class'), ns: text('ns'), pool: text('pool'), sort: text('sort') };
}

/** Returns the rank of a task by its need for a person: 3: waits for one, 2: cannot go on, 1: any other that has not ended, 0: ended. */
export function attention(row: TaskRow): number {
  if (row.waits !== undefined) return 3;
  if (row.stuck !== undefined) return 2;
  return isOver(row) ? 0 : 1;
}

function before(a: TaskRow, b: TaskRow, sort: string): number {
  if (sort === 'cost') return Number(b.cost ?? 0) - Number(a.cost ?? 0) || b.tokens - a.tokens;
  if (sort === 'name') return a.key < b.key ? -1 : 1;
  if (sort !== 'newest') {
    const order = attention(b) - attention(a);
    if (order !== 0) return order;
    if (a.waits !== undefined && b.waits !== undefined) return a.waits.expires - b.waits.expires;
  }
  return b.created - a.created || (a.key < b.key ? -1 : 1);
}

/** Rows in the order that is asked for. */
export function ordered(rows: readonly TaskRow[], sort: string): readonly TaskRow[] {
  return [...rows].sort((a, b) => before(a, b, sort));
}

/** The pool of a task, `namespace/name`; undefined: the page does not know it. */
export type PoolOf = (row: Pick<TaskRow, 'namespace' | 'pool'>) => string | undefined;

/** The default pool of a namespace as far as pools alone decide it: its own, of several the oldest, else the only one of others that may be. */
function defaultPool(namespace: string, pools: readonly ExpertPool[]): string | undefined {
  const age = ({ metadata }: ExpertPool): string => `${metadata.creationTimestamp ?? ''} ${metadata.name}`;
  const [own] = pools
    .filter(({ metadata, spec }) => metadata.namespace === namespace && spec.allowedNamespaces.from !== 'Selector')
    .sort((a, b) => (age(a) < age(b) ? -1 : 1));
  // Labels and grants of the namespace decide which of several others it is.
  const [other, ...more] = own === undefined ? pools.filter(({ spec }) => spec.allowedNamespaces.from !== 'Same') : [own];
  return other === undefined || more.length > 0 ? undefined : `${other.metadata.namespace ?? ''}/${other.metadata.name}`;
}

/** Finds the pool of a task: the one that it names, else the default of its namespace, by the operator's rule. */
export function poolsOf(pools: Iterable<ExpertPool>): PoolOf {
  const defaults = [...pools].filter(({ metadata, spec }) => spec.default && metadata.deletionTimestamp === undefined);
  const found = new Map<string, string | undefined>();
  return ({ namespace, pool }) => {
    if (pool !== undefined) return pool;
    if (!found.has(namespace)) found.set(namespace, defaultPool(namespace, defaults));
    return found.get(namespace);
  };
}

/** Those that a filter leaves, in the order that they have: much cheaper than to sort, and done for each letter. */
export function matching(
  rows: readonly TaskRow[],
  { q, phase, failure, ns, pool }: Filter,
  poolOf: PoolOf = (row) => row.pool,
): readonly TaskRow[] {
  const words = q.toLowerCase();
  return rows.filter(
    (row) =>
      (phase === '' || row.phase === phase) &&
      (failure === '' || row.failure === failure) &&
      (ns === '' || row.namespace === ns) &&
      (pool === '' || poolOf(row) === pool) &&
      (words === '' || row.key.includes(words) || row.goal.toLowerCase().includes(words)),
  );
}

const count = (names: readonly (string | undefined)[]): ReadonlyMap<string, number> => {
  const counts = new Map<string, number>();
  for (const name of names) if (name !== undefined) counts.set(name, (counts.get(name) ?? 0) + 1);
  return counts;
};

export interface Summary {
  readonly byPhase: ReadonlyMap<string, number>;
  readonly byClass: ReadonlyMap<string, number>;
  readonly succeeded: number;
  readonly judged: number;
  readonly endedAt: readonly number[];
  readonly tokens: number;
  readonly cost: number;
  /** Of those that run: spent and allowed. */
  readonly burning: { readonly tokens: number; readonly budget: number; readonly cost: number; readonly costBudget: number };
  readonly oldestQueued: number | undefined;
  readonly queued: number;
}

export function summarise(rows: readonly TaskRow[]): Summary {
  const ended = rows.filter(isOver);
  const succeeded = rows.filter(({ phase }) => phase === 'Succeeded').length;
  const failed = rows.filter(({ phase }) => phase === 'Failed').length;
  const running = rows.filter((row) => !isOver(row));
  const queued = rows.flatMap(({ queuedSince }) => queuedSince ?? []);
  const sum = (of: readonly TaskRow[], value: (row: TaskRow) => number): number => of.reduce((all, row) => all + value(row), 0);
  const [bounded, priced] = [
    running.filter((row) => row.budgetTokens !== undefined),
    running.filter((row) => row.budgetCost !== undefined),
  ];
  return {
    byPhase: count(rows.map(({ phase }) => phase)),
    byClass: count(rows.map(({ failure }) => failure)),
    succeeded,
    judged: succeeded + failed,
    endedAt: ended.flatMap((row) => row.ended ?? []),
    tokens: sum(rows, (row) => row.tokens),
    cost: sum(rows, (row) => Number(row.cost ?? 0)),
    burning: {
      tokens: sum(bounded, (row) => row.tokens),
      budget: sum(bounded, (row) => row.budgetTokens ?? 0),
      cost: sum(priced, (row) => Number(row.cost ?? 0)),
      costBudget: sum(priced, (row) => Number(row.budgetCost ?? 0)),
    },
    oldestQueued: queued.length === 0 ? undefined : queued.reduce((a, b) => Math.min(a, b)),
    queued: queued.length,
  };
}
