import { isControlledBy, type KubeObject } from '@agentfleet/kube';
import type { EnergyModel, ExpertPool, RolloutStatus } from '@agentfleet/protocol/api';
import { revisionRecordName, rolloutLedgerName } from '../pools/names.ts';
import { type ControllerRevision, identity, resources } from '../runtime/resources.ts';
import { drainSecondsOf, type NamedPolicy } from './policy.ts';
import { isOpen } from './progress.ts';
import type { RolloutReport } from './report.ts';
import type { ShadowView } from './shadow.ts';

/** A pool or a model: what rollouts are of. */
export type RolloutOwner = ExpertPool | EnergyModel;

export const isPool = (owner: RolloutOwner): owner is ExpertPool => owner.kind === 'ExpertPool';

/** Returns the word for an owner in the names of its children. Pure. */
export const ownerKind = (owner: RolloutOwner): 'pool' | 'model' => (isPool(owner) ? 'pool' : 'model');

/** One revision of what an owner serves. */
interface Arm {
  readonly revision: string;
}

/** A revision with the number of its record. */
export type Recorded<A extends Arm> = A & { readonly number: number };

type Records<A extends Arm> = ReadonlyMap<string, Recorded<A>>;

/** Revisions that an owner has on record; `read` returns undefined for a record that is none. Pure. */
export function recordsOf<A extends Arm>(
  owner: KubeObject,
  records: readonly ControllerRevision[],
  read: (data: unknown) => A | undefined,
): Records<A> {
  const own = records.filter((record) => isControlledBy(record, owner));
  return new Map(
    own.flatMap(({ data, revision: number = 0 }) => {
      const arm = read(data ?? {});
      return arm === undefined ? [] : [[arm.revision, { ...arm, number }] as const];
    }),
  );
}

/** Returns a revision with the number of its record; the next one where it has none. Pure. */
export function numbered<A extends Arm>(arm: A, recorded: Records<A> = new Map()): Recorded<A> {
  const number = recorded.get(arm.revision)?.number ?? 1 + Math.max(0, ...[...recorded.values()].map((known) => known.number));
  return { ...arm, number };
}

/** Result of a rollout for a pool or a model. */
export interface PlanOf<A extends Arm> {
  /** Undefined: the owner has no rollout any more, and what is left of the last one ends. */
  readonly status: RolloutReport | undefined;
  /** All revisions that have pods, that of stable first. */
  readonly arms: readonly A[];
  /** The revision that is to be put on record; undefined when it is. */
  readonly record: Recorded<A> | undefined;
  /** Children that stay although no desired state asks for them, as `group/plural/name`. */
  readonly keep: readonly string[];
  /** Ms after which time alone may change it. */
  readonly againMs: number;
  /** Results of copies; undefined: nothing is in shadow. */
  readonly shadow?: ShadowView | undefined;
}

/** Ms between two looks at a rollout that goes on, and at one that waits. */
const lookMs = { open: 1_000, waiting: 5_000 } as const;

/** The revisions of an owner, and its children of none. */
interface Revised<A extends Arm> {
  readonly owner: RolloutOwner;
  readonly policy?: NamedPolicy | undefined;
  /** The revision that the spec asks for. */
  readonly desired: Recorded<A>;
  readonly recorded?: Records<A> | undefined;
  /** Reports whether an unfinished task works with a revision, or is judged by it. */
  readonly inUse: (revision: string) => boolean;
  /** Reports whether a revision has pods that these others have not. */
  readonly hasPods: (arm: A, others: readonly A[]) => boolean;
  readonly plain: {
    /** As `group/plural/name`. */
    readonly keys: readonly string[];
    /** Reports whether pods of no revision are there. */
    readonly isThere: boolean;
    /** Reports whether a task is worked on that knows no revision. */
    readonly inUse: () => boolean;
  };
}

/** Returns the revision that serves, and the one that is tried; undefined: the record of the one that serves is gone. Pure. */
export function servingArms<A>(
  arms: ReadonlyMap<string, A>,
  desired: string,
  status: RolloutStatus | undefined,
): { readonly serving: A; readonly tried: A | undefined } | undefined {
  const serving = arms.get(status?.stable ?? desired);
  const tried = isOpen(status) ? arms.get(status?.canary ?? '') : undefined;
  return serving === undefined ? undefined : { serving, tried: tried === serving ? undefined : tried };
}

/**
 * Plans the parts of an owner in a rollout: which revisions have pods, and what is kept. Undefined: it is unknown what serves. Pure.
 * `now` is wall time in ms.
 */
export function planRevisions<A extends Arm>(
  { owner, policy, desired, recorded, inUse, hasPods, plain }: Revised<A>,
  status: RolloutReport,
  now: number,
): (PlanOf<A> & { readonly serving: A }) | undefined {
  const arms = new Map<string, A>([...(recorded ?? []), [desired.revision, desired]]);
  const found = servingArms(arms, desired.revision, status);
  if (found === undefined) return undefined;
  const { serving, tried } = found;
  const wanted = tried === undefined ? [serving] : [serving, tried];
  const drains = now - Date.parse(status.since) < drainSecondsOf(policy) * 1000;
  // They get no new tasks any more, and are still needed, or were until a moment ago.
  const rest = [...arms.values()].filter((arm) => !wanted.includes(arm) && (inUse(arm.revision) || (drains && hasPods(arm, wanted))));
  const all = [...wanted, ...rest];
  const held = [...all.map(({ revision }) => revision), desired.revision, ...(status.lastGreen ?? []), status.canary ?? desired.revision];
  const isSettled = status.stable === desired.revision && rest.length === 0 && !plain.isThere;
  return {
    status,
    serving,
    arms: all,
    record: recorded?.has(desired.revision) === true ? undefined : desired,
    keep: [
      ...recordKeys(owner, held),
      identity(resources.configMaps, rolloutLedgerName(owner.metadata.name, ownerKind(owner))),
      ...(status.stable === undefined || drains || plain.inUse() ? plain.keys : []),
    ],
    againMs: isOpen(status) ? lookMs.open : isSettled ? Infinity : lookMs.waiting,
  };
}

/** The part of a plan that owners without a rollout have while something is left of the last one. Pure. */
export function planOfRest<A extends Arm>(owner: RolloutOwner, recorded: Records<A>): Pick<PlanOf<A>, 'record' | 'keep' | 'againMs'> {
  return { record: undefined, keep: recordKeys(owner, recorded.keys()), againMs: lookMs.waiting };
}

/** Returns the name of the ControllerRevision of a revision. Pure. */
export const recordName = (owner: RolloutOwner, revision: string): string =>
  revisionRecordName(owner.metadata.name, ownerKind(owner), revision);

/** Lists the records of revisions that stay, as `group/plural/name`. */
const recordKeys = (owner: RolloutOwner, revisions: Iterable<string>): readonly string[] =>
  [...new Set(revisions)].map((one) => identity(resources.controllerRevisions, recordName(owner, one)));
