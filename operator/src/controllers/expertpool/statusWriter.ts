import { Applier, canonical, findCondition, keyOf, ResourceClient, type Condition, type NewEvent } from '@agentfleet/kube';
import { fieldManagers, type ExpertPool, type ExpertPoolStatus, type Reason } from '@agentfleet/protocol/api';
import type { OperatorContext } from '../../runtime/context.ts';
import { rolloutEvent, rolloutMoved } from '../../revisions/index.ts';
import { resources } from '../../runtime/resources.ts';

/** Least time between two writes that change nothing but counts, ms: every task that starts or ends changes them. */
const countsEveryMs = 5_000;

/** A status to write now, and ms after which it is to be looked at again because something was held back. */
export interface Held {
  readonly status: ExpertPoolStatus;
  readonly waitMs: number | undefined;
}

const countsOf = ({ running, queued, sandboxes }: ExpertPoolStatus): string => canonical({ running, queued, sandboxes });

/** Keeps the old counts when nothing but they changed a moment ago. Pure. `sinceMs`: since the last write. */
export function holdCounts(desired: ExpertPoolStatus, present: ExpertPoolStatus | undefined, sinceMs: number): Held {
  const whole: Held = { status: desired, waitMs: undefined };
  if (present === undefined || sinceMs >= countsEveryMs) return whole;
  const { running, queued, sandboxes } = present;
  if (running === undefined || queued === undefined || countsOf(present) === countsOf(desired)) return whole;
  const held = { ...desired, running, queued, ...(sandboxes === undefined ? {} : { sandboxes }) };
  return canonical(held) === canonical(present) ? { status: held, waitMs: countsEveryMs - sinceMs } : whole;
}

/** Part of a status that Events are made from. */
export interface WithConditions {
  readonly conditions?: readonly Condition[];
}

/** Returns the Event about a change of the condition Ready; undefined when it did not change. Pure. */
export function readyEvent(present: WithConditions | undefined, next: WithConditions): NewEvent | undefined {
  const conditionOf = (status: WithConditions | undefined): Condition | undefined => findCondition(status?.conditions, 'Ready');
  const [old, ready] = [conditionOf(present), conditionOf(next)];
  if (ready === undefined || (old?.status === ready.status && old.reason === ready.reason)) return undefined;
  const stalled = findCondition(next.conditions, 'Stalled') !== undefined;
  // The conditions report what is under way; Events report its end, and a pool that stops to be ready.
  if (ready.status !== 'True' && !stalled && old?.status !== 'True') return undefined;
  return { type: ready.status === 'True' ? 'Normal' : 'Warning', reason: ready.reason, action: 'Reconcile', note: ready.message };
}

/** Returns the Event about a pool that is ready: what it goes on without, and the end of that. Pure. */
export function degradedEvent(present: WithConditions | undefined, next: WithConditions): NewEvent | undefined {
  const [old, now] = [findCondition(present?.conditions, 'Degraded'), findCondition(next.conditions, 'Degraded')];
  if (findCondition(next.conditions, 'Ready')?.status !== 'True' || old?.reason === now?.reason) return undefined;
  if (now !== undefined) return { type: 'Warning', reason: now.reason, action: 'Reconcile', note: now.message };
  return { type: 'Normal', reason: 'Complete' satisfies Reason, action: 'Reconcile', note: 'nothing is missing any more' };
}

/** Returns the Event about an engine whose memory is not what was estimated; undefined when it was reported before. Pure. */
export function driftEvent(present: WithConditions | undefined, next: WithConditions): NewEvent | undefined {
  const [old, now] = [findCondition(present?.conditions, 'EstimateDrift'), findCondition(next.conditions, 'EstimateDrift')];
  if (now?.status !== 'True' || old?.status === 'True') return undefined;
  return { type: 'Warning', reason: now.reason, action: 'Reconcile', note: now.message };
}

/** Writes the status of pools: one apply, and only when something in it is new. */
export class PoolStatusWriter {
  readonly #context: OperatorContext;
  readonly #applier: Applier<ExpertPool>;
  /** Monotonic ms of the last write, by pool. */
  readonly #writtenAt = new Map<string, number>();

  constructor(context: OperatorContext) {
    const { transport, caches } = context;
    this.#context = context;
    const client = new ResourceClient<ExpertPool>(transport, resources.expertPools);
    this.#applier = new Applier({ client, view: caches.pools, fieldManager: fieldManagers.operator, subresource: 'status' });
    caches.pools.addHandler({
      onDelete: (pool) => {
        this.#applier.forget(keyOf(pool));
        this.#writtenAt.delete(keyOf(pool));
      },
    });
  }

  /** Ms after which to look again because counts were held back; undefined when all is written. */
  async write(pool: ExpertPool, desired: ExpertPoolStatus, signal: AbortSignal): Promise<number | undefined> {
    // A move of the rollout is written only over the version of the status that it was decided from.
    const version = rolloutMoved(pool.status, desired) ? pool.metadata.resourceVersion : undefined;
    const { clock, events } = this.#context;
    const key = keyOf(pool);
    const { apiVersion, kind, metadata } = pool;
    const { status, waitMs } = holdCounts(desired, pool.status, clock.monotonic() - (this.#writtenAt.get(key) ?? -Infinity));
    const { name, namespace = '', uid } = metadata;
    // The uid: a pool of the same name that was made since is another one.
    const declared = { apiVersion, kind, metadata: { name, namespace, uid }, status };
    const { written } = await this.#applier.apply(declared, signal, undefined, version);
    if (!written) return waitMs;
    this.#writtenAt.set(key, clock.monotonic());
    for (const event of [
      readyEvent(pool.status, status),
      degradedEvent(pool.status, status),
      driftEvent(pool.status, status),
      rolloutEvent(pool.status, status),
    ])
      if (event !== undefined) events.record(pool, event);
    return waitMs;
  }
}
