import { createTransport, Informer, kubeconfigConfig, silentLog, systemClock } from '@agentfleet/kube';
import { resources } from '@agentfleet/operator/resources';
import type { AgentTask, Condition } from '@agentfleet/protocol/api';
import type { ClusterAccess } from '../../sandbox/index.ts';

/** Returns the changes from one state of a task to the next, a line for each change. Pure. */
export function news(before: AgentTask | undefined, after: AgentTask): readonly string[] {
  const [old, now] = [before?.status, after.status];
  const lines: string[] = [];
  if (now?.phase !== undefined && now.phase !== old?.phase) lines.push(now.phase);
  for (const condition of now?.conditions ?? []) if (isNews(old?.conditions, condition)) lines.push(conditionLine(condition));
  const { progress, outcome } = now?.run ?? {};
  const earlier = old?.run?.progress;
  if (progress !== undefined && (progress.done !== earlier?.done || progress.message !== earlier.message))
    lines.push(`${progress.done}/${progress.total} ${progress.message ?? ''}`.trimEnd());
  if (outcome !== undefined && old?.run?.outcome === undefined) lines.push(`worker: ${outcome.result} (${outcome.reason})`);
  return lines;
}

/** Conditions that say what others say too. */
const summaries: ReadonlySet<string> = new Set(['Ready', 'Reconciling', 'Finished', 'Stalled']);

function isNews(old: readonly Condition[] | undefined, { type, status, reason }: Condition): boolean {
  if (summaries.has(type) || status === 'Unknown') return false;
  const known = old?.find((condition) => condition.type === type);
  return known?.status !== status || known.reason !== reason;
}

function conditionLine({ type, status, reason, message }: Condition): string {
  const words = message === undefined || message === '' ? '' : `: ${message.split('\n', 1)[0] ?? ''}`;
  return `${type}=${status} (${reason})${words}`.slice(0, 160);
}

/** A state of a task, and when it was seen, in milliseconds since the epoch. */
export interface Seen {
  readonly task: AgentTask;
  readonly at: number;
}

/** All states of one task, from the first to the finished one. */
export interface Timeline {
  readonly appliedAt: number;
  readonly states: readonly Seen[];
  readonly end: AgentTask;
}

export interface FollowOptions {
  readonly cluster: ClusterAccess;
  readonly namespace: string;
  readonly names: readonly string[];
  /** Applies the tasks; called once the watch is open, so that no state is missed. */
  readonly apply: () => Promise<void>;
  /** Called with each state, to act upon it. */
  readonly onState?: (task: AgentTask) => void;
  readonly signal: AbortSignal;
}

/**
 * Applies tasks and prints what becomes of them, with the seconds since then, until all are finished. Rejects on abort,
 * naming those that are not.
 */
export async function follow(options: FollowOptions): Promise<ReadonlyMap<string, Timeline>> {
  const { cluster, namespace, signal } = options;
  const stop = new AbortController();
  const transport = createTransport(await kubeconfigConfig({ file: cluster.kubeconfig, context: cluster.context }), {
    userAgent: 'agentfleet-demo',
  });
  const informer = new Informer<AgentTask>({
    transport,
    resource: resources.agentTasks,
    namespace,
    clock: systemClock,
    random: Math.random,
    log: silentLog,
  });
  const running = informer.run(stop.signal);
  try {
    await informer.waitForSync(30_000, signal);
    return await collect(informer, options);
  } finally {
    stop.abort();
    await running;
    await transport.close();
  }
}

/** States of each task that were seen so far. */
class Record {
  readonly appliedAt = Date.now();
  readonly states = new Map<string, Seen[]>();
  readonly #width: number;

  constructor(names: readonly string[]) {
    for (const name of names) this.states.set(name, []);
    this.#width = Math.max(...names.map((name) => name.length));
  }

  /** Prints what is new in a state and keeps it; false for a task that is not followed here. */
  add(task: AgentTask): boolean {
    const { name } = task.metadata;
    const states = this.states.get(name);
    if (states === undefined) return false;
    const at = Date.now();
    const seconds = ((at - this.appliedAt) / 1000).toFixed(1).padStart(6);
    for (const line of news(states.at(-1)?.task, task)) console.log(`  ${seconds} s  ${name.padEnd(this.#width)}  ${line}`);
    states.push({ task, at });
    return true;
  }

  unfinished(): readonly string[] {
    return [...this.states].filter(([, states]) => states.at(-1)?.task.status?.finished !== 'true').map(([name]) => name);
  }

  timelines(): ReadonlyMap<string, Timeline> {
    const timelines = new Map<string, Timeline>();
    for (const [name, states] of this.states) {
      const end = states.at(-1)?.task;
      if (end !== undefined) timelines.set(name, { appliedAt: this.appliedAt, states, end });
    }
    return timelines;
  }
}

async function collect(
  informer: Informer<AgentTask>,
  { names, apply, onState, signal }: FollowOptions,
): Promise<ReadonlyMap<string, Timeline>> {
  const record = new Record(names);
  const { promise, resolve, reject } = Promise.withResolvers<void>();
  const onAbort = (): void =>
    reject(new Error(`not finished in time: ${record.unfinished().join(', ')}; see: kubectl describe agenttasks`));
  signal.addEventListener('abort', onAbort, { once: true });
  const see = (task: AgentTask): void => {
    if (!record.add(task)) return;
    onState?.(task);
    if (record.unfinished().length === 0) resolve();
  };
  const remove = informer.addHandler({ onAdd: see, onUpdate: (_, task) => see(task) });
  try {
    await apply();
    await promise;
    return record.timelines();
  } finally {
    remove();
    signal.removeEventListener('abort', onAbort);
  }
}
