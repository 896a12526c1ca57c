import { createTransport, Informer, kubeconfigConfig, silentLog, systemClock } from '@agentfleet/kube';
import { resources } from '@agentfleet/operator/resources';
import type { AgentTask } from '@agentfleet/protocol/api';
import type { ClusterAccess } from '../../sandbox/index.ts';
import { news } from './news.ts';

/** A state of a task, and when it was seen, in milliseconds since the epoch. */
export interface Seen {
  readonly task: AgentTask;
  readonly at: number;
}

/** All states of one task, from the first to the finished one. */
export interface Course {
  readonly appliedAt: number;
  readonly states: readonly Seen[];
  readonly end: AgentTask;
}

export interface FollowOptions {
  readonly cluster: ClusterAccess;
  readonly namespace: string;
  readonly name: string;
  /** Applies the task; called once the watch is open, so that no state is missed. */
  readonly apply: () => Promise<void>;
  readonly signal: AbortSignal;
}

/** Applies a task and prints what becomes of it, with the seconds since then, until it is finished. Rejects on abort. */
export async function follow({ cluster, namespace, name, apply, signal }: FollowOptions): Promise<Course> {
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
    return await collect(informer, name, apply, signal);
  } finally {
    stop.abort();
    await running;
    await transport.close();
  }
}

async function collect(informer: Informer<AgentTask>, name: string, apply: () => Promise<void>, signal: AbortSignal): Promise<Course> {
  const appliedAt = Date.now();
  const states: Seen[] = [];
  const { promise, resolve, reject } = Promise.withResolvers<AgentTask>();
  const onAbort = (): void => reject(new Error(`${name} did not finish in time; see: kubectl describe agenttask ${name}`));
  signal.addEventListener('abort', onAbort, { once: true });
  const see = (task: AgentTask): void => {
    if (task.metadata.name !== name) return;
    const at = Date.now();
    for (const line of news(states.at(-1)?.task, task)) console.log(`  ${((at - appliedAt) / 1000).toFixed(1).padStart(6)} s  ${line}`);
    states.push({ task, at });
    if (task.status?.finished === 'true') resolve(task);
  };
  const remove = informer.addHandler({ onAdd: see, onUpdate: (_, task) => see(task) });
  try {
    await apply();
    const end = await promise;
    return { appliedAt, states, end };
  } finally {
    remove();
    signal.removeEventListener('abort', onAbort);
  }
}
