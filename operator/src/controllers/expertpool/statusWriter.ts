import {
  Applier,
  canonical,
  findCondition,
  keyOf,
  ResourceClient,
  type Clock,
  type Informer,
  type NewEvent,
  type Resource,
} from '@agentfleet/kube';
import { fieldManagers, type EnergyModel, type ExpertPool, type ExpertPoolStatus, type Reason } from '@agentfleet/protocol/api';
import type { OperatorContext } from '../../runtime/context.ts';
import { rolloutEvent, rolloutMoved } from '../../revisions/index.ts';
import { resources } from '../../runtime/resources.ts';

/** Least time between two writes that change nothing but counts, ms: every task that starts or ends changes them. */
const countsEveryMs = 5_000;

/** A status to write now, and ms after which it is to be looked at again because something was held back. */
interface Held {
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

type Conditions = Pick<ExpertPoolStatus, 'conditions'>;

/** Returns the Event about a change of the condition Ready; undefined when it did not change. Pure. */
export function readyEvent(present: Conditions | undefined, next: Conditions): NewEvent | undefined {
  const [old, ready] = [findCondition(present?.conditions, 'Ready'), findCondition(next.conditions, 'Ready')];
  if (ready === undefined || (old?.status === ready.status && old.reason === ready.reason)) return undefined;
  const stalled = findCondition(next.conditions, 'Stalled') !== undefined;
  // The conditions report what is under way; Events report its end, and a pool that stops to be ready.
  if (ready.status !== 'True' && !stalled && old?.status !== 'True') return undefined;
  return { type: ready.status === 'True' ? 'Normal' : 'Warning', reason: ready.reason, action: 'Reconcile', note: ready.message };
}

/** Returns the Event about a pool that is ready: what it goes on without, and the end of that. Pure. */
export function degradedEvent(present: Conditions | undefined, next: Conditions): NewEvent | undefined {
  const [old, now] = [findCondition(present?.conditions, 'Degraded'), findCondition(next.conditions, 'Degraded')];
  if (findCondition(next.conditions, 'Ready')?.status !== 'True' || old?.reason === now?.reason) return undefined;
  if (now !== undefined) return { type: 'Warning', reason: now.reason, action: 'Reconcile', note: now.message };
  return { type: 'Normal', reason: 'Complete' satisfies Reason, action: 'Reconcile', note: 'nothing is missing any more' };
}

/** Returns the Event about an engine whose memory is not what was estimated; undefined when it was reported before. Pure. */
export function driftEvent(present: Conditions | undefined, next: Conditions): NewEvent | undefined {
  const [old, now] = [findCondition(present?.conditions, 'EstimateDrift'), findCondition(next.conditions, 'EstimateDrift')];
  if (now?.status !== 'True' || old?.status === 'True') return undefined;
  return { type: 'Warning', reason: now.reason, action: 'Reconcile', note: now.message };
}

/** Writes the status of pools or of models: one apply, and only when something in it is new. */
export class StatusWriter<T extends ExpertPool | EnergyModel> {
  readonly #events: OperatorContext['events'];
  readonly #applier: Applier<T>;

  constructor({ transport, events }: OperatorContext, resource: Resource<T>, view: Informer<T>) {
    this.#events = events;
    const client = new ResourceClient(transport, resource);
    this.#applier = new Applier({ client, view, fieldManager: fieldManagers.operator, subresource: 'status' });
    view.addHandler({ onDelete: (owner) => this.#applier.forget(keyOf(owner)) });
  }

  /** Reports whether it was written. Rejects on a conflict. */
  async write({ apiVersion, kind, metadata, status: present }: T, status: NonNullable<T['status']>, signal: AbortSignal): Promise<boolean> {
    // A move of the rollout is written only over the version of the status that it was decided from.
    const version = rolloutMoved(present, status) ? metadata.resourceVersion : undefined;
    const { name, namespace = '', uid } = metadata;
    // The uid: an object of the same name that was made since is another one.
    const { written } = await this.#applier.apply(
      { apiVersion, kind, metadata: { name, namespace, uid }, status },
      signal,
      undefined,
      version,
    );
    if (!written) return false;
    for (const eventOf of [readyEvent, degradedEvent, driftEvent, rolloutEvent]) {
      const event = eventOf(present, status);
      if (event !== undefined) this.#events.record({ apiVersion, kind, metadata }, event);
    }
    return true;
  }
}

/** Writes the status of pools, and their counts less often than they change. */
export class PoolStatusWriter {
  readonly #clock: Clock;
  readonly #writer: StatusWriter<ExpertPool>;
  /** Monotonic ms of the last write, by pool. */
  readonly #writtenAt = new Map<string, number>();

  constructor(context: OperatorContext) {
    const { clock, caches } = context;
    this.#clock = clock;
    this.#writer = new StatusWriter(context, resources.expertPools, caches.pools);
    caches.pools.addHandler({ onDelete: (pool) => void this.#writtenAt.delete(keyOf(pool)) });
  }

  /** Ms after which to look again because counts were held back; undefined when all is written. */
  async write(pool: ExpertPool, desired: ExpertPoolStatus, signal: AbortSignal): Promise<number | undefined> {
    const key = keyOf(pool);
    const { status, waitMs } = holdCounts(desired, pool.status, this.#clock.monotonic() - (this.#writtenAt.get(key) ?? -Infinity));
    if (await this.#writer.write(pool, status, signal)) this.#writtenAt.set(key, this.#clock.monotonic());
    return waitMs;
  }
}
