import { findCondition, keyOf } from '@agentfleet/kube';
import type { AgentTask } from '@agentfleet/protocol/api';
import type { QueueView } from './snapshot.ts';

/** Why a task is not assigned although it could be when there were room. */
export const waitReasons = ['WaitingForSlot', 'PoolAtLimit', 'NoWorkerReady'] as const;

/** Negative when `a` is served before `b`: by priority, then age, then name. */
export function byTurn(a: AgentTask, b: AgentTask): number {
  const priority = b.spec.priority - a.spec.priority;
  if (priority !== 0) return priority;
  const [ageA, ageB] = [a.metadata.creationTimestamp ?? '', b.metadata.creationTimestamp ?? ''];
  if (ageA !== ageB) return ageA < ageB ? -1 : 1;
  const [keyA, keyB] = [keyOf(a), keyOf(b)];
  return keyA < keyB ? -1 : keyA > keyB ? 1 : 0;
}

/** Whether it holds a slot of a worker. While it is quiesced it does not. */
export function occupies({ status, metadata }: AgentTask): boolean {
  const directive = status?.assignment?.directive;
  return status?.finished !== 'true' && metadata.deletionTimestamp === undefined && directive !== undefined && directive !== 'Quiesce';
}

/** Whether it would take a slot. One that nobody has looked at yet counts, because its turn may be the next. */
export function waits(task: AgentTask): boolean {
  const { spec, status, metadata } = task;
  if (status?.finished === 'true' || metadata.deletionTimestamp !== undefined || spec.suspend || spec.cancel !== 'None' || occupies(task))
    return false;
  if (status?.conditions === undefined) return true;
  if (findCondition(status.conditions, 'Accepted')?.status !== 'True') return false;
  const reason = findCondition(status.conditions, 'Scheduled')?.reason;
  return waitReasons.some((one) => one === reason);
}

/** Bounds of a pool; Infinity where there is none. */
export interface Bounds {
  readonly maxRunning: number;
  readonly perNamespace: number;
}

/** What a task is to the queue: it has a slot, has its place in the queue, or nobody has looked at it yet. */
export type Standing = 'Running' | 'Queued' | 'New' | 'Elsewhere';

/** What a task is to the queue by its status alone. */
export function standing(task: AgentTask): Standing {
  if (occupies(task)) return 'Running';
  if (!waits(task)) return 'Elsewhere';
  return task.status?.conditions === undefined ? 'New' : 'Queued';
}

/**
 * The queue around `own`. `standingOf` knows more than the cache: decisions that the cache does not show yet; `blocked`
 * says of a namespace that nothing can begin there.
 */
export function queueView(
  own: AgentTask,
  others: Iterable<AgentTask>,
  bounds: Bounds,
  standingOf: (task: AgentTask) => Standing,
  blocked: (namespace: string) => boolean,
): QueueView {
  const used = new Map<string, number>();
  const before = new Map<string, number>();
  const add = (counts: Map<string, number>, namespace: string): unknown => counts.set(namespace, (counts.get(namespace) ?? 0) + 1);
  let waiting = 0;
  for (const task of others) {
    const place = standingOf(task);
    if (task.metadata.uid === own.metadata.uid || place === 'Elsewhere') continue;
    const namespace = task.metadata.namespace ?? '';
    if (place === 'Running') add(used, namespace);
    else if (byTurn(task, own) < 0) add(before, namespace);
    if (place === 'Queued') waiting += 1;
  }
  const sum = (counts: Iterable<number>): number => [...counts].reduce((a, b) => a + b, 0);
  const room = (namespace: string): number => (blocked(namespace) ? 0 : Math.max(0, bounds.perNamespace - (used.get(namespace) ?? 0)));
  return {
    running: sum(used.values()),
    runningInNamespace: used.get(own.metadata.namespace ?? '') ?? 0,
    waiting,
    ahead: sum(before.values()),
    takers: sum([...before].map(([namespace, count]) => Math.min(count, room(namespace)))),
  };
}

/** The next tasks to be looked at when slots become free; as many as there are slots, those that cannot begin left out. */
export function nextInTurn(tasks: readonly AgentTask[], slots: number, blocked: (namespace: string) => boolean): readonly AgentTask[] {
  return tasks
    .filter((task) => waits(task) && !blocked(task.metadata.namespace ?? ''))
    .sort(byTurn)
    .slice(0, slots);
}
