import type { Assignment, RolloutStatus, Expert, EnergyModel, ExpertPool } from '@agentfleet/protocol/api';
import type { RolloutReport } from './report.ts';
import { goesToCanary, isControl } from '../rollout/index.ts';
import { createHash } from 'node:crypto';
import { canonical, findCondition, ResourceClient, unlessAborted, type Transport } from '@agentfleet/kube';
import { resources } from '../runtime/resources.ts';
import { isOpen } from './progress.ts';

/** Revision that a task works with, and the rollout that its end is counted for. */
export interface Arm {
  readonly revision: string | undefined;
  readonly rollout: string | undefined;
  /** The rollout whose revision gets copies of its requests; its end counts for no arm then. */
  readonly shadow: string | undefined;
}

/** The part of an assignment that names what the task works with, and who judges it. */
type Arms = Pick<Assignment, 'revision' | 'verifierRevision' | 'rollout' | 'shadow'>;

/** The arm of a task that never had one. Pure. */
export function armOf(uid: string, status: RolloutStatus | undefined): Arm {
  const { stable, canary, weight = 0, id } = status ?? {};
  const apart = { revision: stable, rollout: undefined, shadow: status?.phase === 'Shadowing' ? id : undefined };
  if (status === undefined || !isTrying(status) || canary === undefined || id === undefined) return apart;
  if (goesToCanary(uid, id, weight)) return { ...apart, revision: canary, rollout: id };
  return { ...apart, rollout: isControl(uid, id, weight) ? id : undefined };
}

/** The revision of a task that had one: the same as long as it may serve, so that one task sees one revision. Pure. */
function laterRevision(before: string | undefined, status: RolloutStatus | undefined): string | undefined {
  if (before === undefined || status === undefined) return status?.stable;
  // Without a weight none of its engines answers.
  const isTried = isTrying(status) && status.weight > 0 && before === status.canary;
  const serves = before === status.stable || isTried || status.lastGreen?.includes(before) === true;
  return serves ? before : status.stable;
}

function isTrying({ phase }: RolloutStatus): boolean {
  return phase === 'Canary' || phase === 'Promoting';
}

/**
 * Decides the revisions that a task works with and is judged by from this assignment on. `before` is that of the one before, undefined for
 * the first. A task that has to change either is counted for no arm from then on. `status` is the pool's, `judge` its model's. Pure.
 */
export function armsOf(uid: string, before: Arms | undefined, status: RolloutStatus | undefined, judge?: RolloutStatus): Arms {
  const { revision, verifierRevision, rollout, shadow } = before === undefined ? first(uid, status, judge) : later(before, status, judge);
  return {
    ...(revision === undefined ? {} : { revision }),
    ...(verifierRevision === undefined ? {} : { verifierRevision }),
    ...(rollout === undefined ? {} : { rollout }),
    ...(shadow === undefined ? {} : { shadow }),
  };
}

interface Chosen extends Arm {
  readonly verifierRevision: string | undefined;
}

/** Two caches may show two rollouts of which one is over: then none is tried, as an end could not be attributed. */
function first(uid: string, status: RolloutStatus | undefined, judge: RolloutStatus | undefined): Chosen {
  const both = [status, judge].every((known) => known !== undefined && (isTrying(known) || known.phase === 'Shadowing'));
  if (both) return { revision: status?.stable, verifierRevision: judge?.stable, rollout: undefined, shadow: undefined };
  const [worker, verifier] = [armOf(uid, status), armOf(uid, judge)];
  return {
    revision: worker.revision,
    verifierRevision: verifier.revision,
    rollout: worker.rollout ?? verifier.rollout,
    shadow: worker.shadow ?? verifier.shadow,
  };
}

function later(before: Arms, status: RolloutStatus | undefined, judge: RolloutStatus | undefined): Chosen {
  const revision = laterRevision(before.revision, status);
  const verifierRevision = laterRevision(before.verifierRevision, judge);
  const same = revision === before.revision && verifierRevision === before.verifierRevision;
  return { revision, verifierRevision, rollout: same ? before.rollout : undefined, shadow: same ? before.shadow : undefined };
}

/** Hexadecimal digits of the SHA-256 over a value, whatever the order of its keys. Pure. */
export function shortHash(value: unknown, digits: number): string {
  return createHash('sha256').update(canonical(value)).digest('hex').slice(0, digits);
}

/** Name of a revision of what an object serves; the uid keeps those of two objects apart. Pure. */
export function revisionOf(uid: string, content: unknown): string {
  return shortHash({ uid, content }, 10);
}

/** Returns an expert without its number of pods, which is no part of what they serve. */
function served(expert: Expert): Omit<Expert, 'replicas'> {
  const { replicas: _, ...rest } = expert;
  return rest;
}

/** Returns the hash of an expert's server: revisions in which it is the same share its pods. `beside` is what else is in them. Pure. */
export function expertHash(expert: Expert, image: string | undefined, beside?: unknown): string {
  return shortHash({ expert: served(expert), image, ...(beside === undefined ? {} : { beside }) }, 8);
}

/** Revision of a pool: of its experts in their order, each with its image. Pure. */
export function poolRevision(uid: string, experts: readonly Expert[], image: (expert: Expert) => string | undefined): string {
  return revisionOf(
    uid,
    experts.map((expert) => ({ expert: served(expert), image: image(expert) ?? null })),
  );
}

/** Returns the reason why a pool must not begin a rollout now: its verifier is changing. Undefined: it may. Pure. */
export function poolLockedBy(model: EnergyModel | undefined): string | undefined {
  if (model === undefined || model.metadata.deletionTimestamp !== undefined) return undefined;
  const { metadata, status } = model;
  // One that was not looked at since it was changed goes first.
  const changing =
    status?.observedGeneration !== metadata.generation || findCondition(status?.conditions, 'Reconciling')?.status === 'True';
  return changing || isOpen(status?.rollout) ? `EnergyModel ${metadata.name}` : undefined;
}

/** Returns the reason why a model must not begin a rollout now: a pool that names it is changing. Undefined: it may. Pure. */
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
  return spec.rolloutPolicyRef === undefined && status?.observedGeneration !== metadata.generation;
}

/** Decision that depends on what keeps a rollout from beginning. */
export interface Decider<T> {
  readonly before: RolloutStatus | undefined;
  /** Obstacle that keeps it from beginning, as the caches show it. */
  readonly lockedBy: string | undefined;
  readonly decide: (lockedBy: string | undefined) => RolloutReport;
  /** Writes down what was decided. */
  readonly act: (status: RolloutReport) => Promise<T>;
}

/** Reports whether a rollout begins between two statuses. Pure. */
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

  /** Decides about a pool, and acts; one that begins holds the lock until it has. */
  ofPool<T>(pool: ExpertPool, decider: Decider<T>, signal: AbortSignal): Promise<T> {
    const { metadata, spec } = pool;
    const name = spec.energyModelRef?.name;
    return this.#guard(decider, signal, async () =>
      name === undefined ? undefined : poolLockedBy(await this.#models.find({ namespace: metadata.namespace ?? '', name }, { signal })),
    );
  }

  /** Decides about a model, and acts; one that begins holds the lock until it has. */
  ofModel<T>({ metadata }: EnergyModel, decider: Decider<T>, signal: AbortSignal): Promise<T> {
    return this.#guard(decider, signal, async () =>
      modelLockedBy(metadata.name, await this.#pools.list({ namespace: metadata.namespace ?? '', signal })),
    );
  }

  async #guard<T>({ before, lockedBy, decide, act }: Decider<T>, signal: AbortSignal, now: () => Promise<string | undefined>): Promise<T> {
    const status = decide(lockedBy);
    if (!begins(before, status)) return act(status);
    const release = await this.#take(signal);
    try {
      return await act(decide(await now()));
    } finally {
      release();
    }
  }

  async #take(signal: AbortSignal): Promise<() => void> {
    const before = this.#last;
    const { promise, resolve } = Promise.withResolvers<void>();
    this.#last = before.then(() => promise);
    try {
      await unlessAborted(before, signal);
      return resolve;
    } catch (error) {
      resolve();
      throw error;
    }
  }
}
