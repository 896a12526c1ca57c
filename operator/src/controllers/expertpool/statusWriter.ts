import {
  Applier,
  canonical,
  findCondition,
  isConflict,
  keyOf,
  ResourceClient,
  type Condition,
  type Informer,
  type NewEvent,
  type Resource,
} from '@agentfleet/kube';
import { fieldManagers, type EnergyModel, type ExpertPool, type ExpertPoolStatus, type Reason } from '@agentfleet/protocol/api';
import type { OperatorContext } from '../../runtime/context.ts';
import { rolloutEvent, rolloutMoved } from '../../revisions/index.ts';

/** Least time between two writes that change nothing but counts, ms: every task that starts or ends changes them. */
const countsEveryMs = 5_000;

/** Time until the rollout of an object that changed since it was read is decided again, ms. */
const conflictMs = 100;

/** Parts of a status that are written later, and that Events are made from. */
interface Reported {
  readonly conditions?: readonly Condition[];
  readonly running?: number;
  readonly queued?: number;
  readonly sandboxes?: ExpertPoolStatus['sandboxes'];
}

/** A status to write now, and ms after which it is to be looked at again because something was held back. */
export interface Held<S> {
  readonly status: S;
  readonly waitMs: number | undefined;
}

const countsOf = ({ running, queued, sandboxes }: Reported): string => canonical({ running, queued, sandboxes });

/** Keeps the old counts when nothing but they changed a moment ago. Pure. `sinceMs`: since the last write. */
export function holdCounts<S extends Reported>(desired: S, present: S | undefined, sinceMs: number): Held<S> {
  const whole: Held<S> = { status: desired, waitMs: undefined };
  if (present === undefined || sinceMs >= countsEveryMs) return whole;
  const { running, queued, sandboxes } = present;
  if (running === undefined || queued === undefined || countsOf(present) === countsOf(desired)) return whole;
  const held = { ...desired, running, queued, ...(sandboxes === undefined ? {} : { sandboxes }) };
  return canonical(held) === canonical(present) ? { status: held, waitMs: countsEveryMs - sinceMs } : whole;
}

/** Returns the Event about a change of the condition Ready; undefined when it did not change. Pure. */
export function readyEvent(present: Reported | undefined, next: Reported): NewEvent | undefined {
  const conditionOf = (status: Reported | undefined): Condition | undefined => findCondition(status?.conditions, 'Ready');
  const [old, ready] = [conditionOf(present), conditionOf(next)];
  if (ready === undefined || (old?.status === ready.status && old.reason === ready.reason)) return undefined;
  const stalled = findCondition(next.conditions, 'Stalled') !== undefined;
  // The conditions report what is under way; Events report its end, and a pool that stops to be ready.
  if (ready.status !== 'True' && !stalled && old?.status !== 'True') return undefined;
  return { type: ready.status === 'True' ? 'Normal' : 'Warning', reason: ready.reason, action: 'Reconcile', note: ready.message };
}

/** Returns the Event about a pool that is ready: what it goes on without, and the end of that. Pure. */
export function degradedEvent(present: Reported | undefined, next: Reported): NewEvent | undefined {
  const [old, now] = [findCondition(present?.conditions, 'Degraded'), findCondition(next.conditions, 'Degraded')];
  if (findCondition(next.conditions, 'Ready')?.status !== 'True' || old?.reason === now?.reason) return undefined;
  if (now !== undefined) return { type: 'Warning', reason: now.reason, action: 'Reconcile', note: now.message };
  return { type: 'Normal', reason: 'Complete' satisfies Reason, action: 'Reconcile', note: 'nothing is missing any more' };
}

/** Returns the Event about an engine whose memory is not what was estimated; undefined when it was reported before. Pure. */
export function driftEvent(present: Reported | undefined, next: Reported): NewEvent | undefined {
  const [old, now] = [findCondition(present?.conditions, 'EstimateDrift'), findCondition(next.conditions, 'EstimateDrift')];
  if (now?.status !== 'True' || old?.status === 'True') return undefined;
  return { type: 'Warning', reason: now.reason, action: 'Reconcile', note: now.message };
}

/** Writes the statuses of pools, or of models: one apply, and only when something in it is new. */
export class StatusWriter<T extends ExpertPool | EnergyModel> {
  readonly #context: OperatorContext;
  readonly #applier: Applier<T>;
  /** Monotonic ms of the last write, by object. */
  readonly #writtenAt = new Map<string, number>();

  constructor(context: OperatorContext, resource: Resource<T>, cache: Informer<T>) {
    this.#context = context;
    const client = new ResourceClient<T>(context.transport, resource);
    this.#applier = new Applier({ client, view: cache, fieldManager: fieldManagers.operator, subresource: 'status' });
    cache.addHandler({
      onDelete: (object) => {
        this.#applier.forget(keyOf(object));
        this.#writtenAt.delete(keyOf(object));
      },
    });
  }

  /** Ms after which to look again, because counts were held back or the object has changed since it was read; undefined when all is written. */
  async write(owner: T, desired: NonNullable<T['status']>, signal: AbortSignal): Promise<number | undefined> {
    const present = owner.status;
    // A move of the rollout is written only over the version of the status that it was decided from.
    const version = rolloutMoved(present, desired) ? owner.metadata.resourceVersion : undefined;
    const { clock, events } = this.#context;
    const key = keyOf(owner);
    const { apiVersion, kind, metadata } = owner;
    const { status, waitMs } = holdCounts<Reported>(desired, present, clock.monotonic() - (this.#writtenAt.get(key) ?? -Infinity));
    const { name, namespace = '', uid } = metadata;
    // The uid: an object of the same name that was made since is another one.
    const declared = { apiVersion, kind, metadata: { name, namespace, uid }, status };
    try {
      const { written } = await this.#applier.apply(declared, signal, version);
      if (!written) return waitMs;
    } catch (error) {
      if (!isConflict(error)) throw error;
      return conflictMs;
    }
    this.#writtenAt.set(key, clock.monotonic());
    const news = [readyEvent(present, status), degradedEvent(present, status), driftEvent(present, status), rolloutEvent(present, desired)];
    for (const event of news) if (event !== undefined) events.record(owner, event);
    return waitMs;
  }
}
