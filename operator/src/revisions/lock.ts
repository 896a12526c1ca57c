import { findCondition, ResourceClient, type Transport } from '@agentfleet/kube';
import type { EnergyModel, ExpertPool, RolloutStatus } from '@agentfleet/protocol/api';
import { resources } from '../runtime/resources.ts';
import { isOpen } from './progress.ts';

/** Why a pool must not begin a rollout now: its verifier is changing. Undefined: it may. Pure. */
export function poolLockedBy(model: EnergyModel | undefined): string | undefined {
  if (model === undefined || model.metadata.deletionTimestamp !== undefined) return undefined;
  const { metadata, status } = model;
  // One that was not looked at since it was changed goes first.
  const changing =
    status?.observedGeneration !== metadata.generation || findCondition(status?.conditions, 'Reconciling')?.status === 'True';
  return changing || isOpen(status?.rollout) ? `EnergyModel ${metadata.name}` : undefined;
}

/** Why a model must not begin a rollout now: a pool that names it is changing. Undefined: it may. Pure. */
export function modelLockedBy(model: string, pools: readonly ExpertPool[]): string | undefined {
  const naming = pools.filter(({ metadata, spec }) => metadata.deletionTimestamp === undefined && spec.energyModelRef?.name === model);
  const found = naming.find((pool) => isOpen(pool.status?.rollout) || isReplacing(pool));
  return found === undefined ? undefined : `ExpertPool ${found.metadata.name}`;
}

/** A pool with a rollout replaces nothing before it has begun one, for which it asks here too. */
function isReplacing({ metadata, spec, status }: ExpertPool): boolean {
  if (
    findCondition(status?.conditions, 'Reconciling')?.status === 'True' &&
    findCondition(status?.conditions, 'EnginesReady')?.status !== 'True'
  )
    return true;
  return spec.rollout === undefined && status?.observedGeneration !== metadata.generation;
}

/** A status that was decided; `release` once it is written, or will not be. */
export interface Guarded {
  readonly status: RolloutStatus;
  readonly release: () => void;
}

/** What is decided by what keeps a rollout from beginning. */
export interface Decider {
  readonly before: RolloutStatus | undefined;
  /** What keeps it from beginning, as the caches know. */
  readonly lockedBy: string | undefined;
  readonly decide: (lockedBy: string | undefined) => RolloutStatus;
}

/** Whether a rollout begins between two statuses. Pure. */
function begins(before: RolloutStatus | undefined, next: RolloutStatus): boolean {
  return !isOpen(before) && next.id !== undefined && next.id !== before?.id;
}

/**
 * Lets rollouts begin one after the other. A generator and its verifier never change together, and caches may be old: who
 * begins holds the lock until its status is written, and reads of the API server what the other one is at.
 */
export class RolloutLock {
  readonly #pools: ResourceClient<ExpertPool>;
  readonly #models: ResourceClient<EnergyModel>;
  #last: Promise<void> = Promise.resolve();

  constructor(transport: Transport) {
    this.#pools = new ResourceClient(transport, resources.expertPools);
    this.#models = new ResourceClient(transport, resources.energyModels);
  }

  /** Decides about a pool; one that begins holds the lock. */
  ofPool(pool: ExpertPool, decider: Decider, signal: AbortSignal): Promise<Guarded> {
    const { metadata, spec } = pool;
    const name = spec.energyModelRef?.name;
    return this.#guard(decider, signal, async () =>
      name === undefined ? undefined : poolLockedBy(await this.#models.find({ namespace: metadata.namespace ?? '', name }, { signal })),
    );
  }

  /** Decides about a model; one that begins holds the lock. */
  ofModel({ metadata }: EnergyModel, decider: Decider, signal: AbortSignal): Promise<Guarded> {
    return this.#guard(decider, signal, async () =>
      modelLockedBy(metadata.name, await this.#pools.list({ namespace: metadata.namespace ?? '', signal })),
    );
  }

  async #guard({ before, lockedBy, decide }: Decider, signal: AbortSignal, now: () => Promise<string | undefined>): Promise<Guarded> {
    const status = decide(lockedBy);
    if (!begins(before, status)) return { status, release: () => undefined };
    const release = await this.#take(signal);
    try {
      return { status: decide(await now()), release };
    } catch (error) {
      release();
      throw error;
    }
  }

  async #take(signal: AbortSignal): Promise<() => void> {
    const before = this.#last;
    const { promise, resolve } = Promise.withResolvers<void>();
    this.#last = before.then(() => promise);
    await before;
    if (!signal.aborted) return resolve;
    resolve();
    throw signal.reason;
  }
}
