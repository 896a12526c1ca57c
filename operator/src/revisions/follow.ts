import {
  type AgentTaskOrder,
  type EnergyModel,
  type EnergyModelStatus,
  type ExpertPool,
  type ExpertPoolStatus,
  rolloutAnnotations,
} from '@agentfleet/protocol/api';
import type { Lister } from '@agentfleet/kube';
import { rolloutOrderIndex, rolloutOrderKey, type RolloutTarget } from '../runtime/caches.ts';
import type { OperatorContext } from '../runtime/context.ts';
import { identity, resources } from '../runtime/resources.ts';
import type { Decider, Guarded, RolloutLock } from './arm.ts';
import type { GoldenQuestion } from './goldenSets.ts';
import { DamagedBook, mostTasks, type LedgerPlace } from './ledger.ts';
import { type NamedPolicy, withoutPolicy } from './policy.ts';
import { isOpen, progress, type Seen } from './progress.ts';
import { rolloutReport, type RolloutReport } from './report.ts';
import type { ShadowView } from './shadow.ts';
import type { Trial, Trials } from './trials.ts';

/** Dependencies for following the rollouts of pools and of models. */
export interface Followers {
  readonly context: OperatorContext;
  readonly trials: Trials;
  readonly lock: RolloutLock;
}

/** The pool or model that a rollout is of. */
interface RolloutOwner<P> {
  readonly owner: ExpertPool | EnergyModel;
  readonly policy: NamedPolicy | undefined;
  /** Returns the rest of a rollout where no policy is named any more. */
  readonly leaving: () => P | undefined;
}

/** The revisions of an owner, as its controller knows them. */
export interface Revisions<P> extends Pick<Seen, 'canaryEngines' | 'incompatible'> {
  /** The revision that the spec asks for. */
  readonly desired: string;
  readonly recorded: ReadonlyMap<string, unknown> | undefined;
  readonly place: LedgerPlace;
  readonly golden: Pick<GoldenQuestion, 'kind' | 'labels' | 'serviceAccount' | 'ready' | 'arm' | 'jobs' | 'pods'>;
  readonly trial: Pick<Trial, 'arm' | 'pods' | 'heldOut' | 'maps'>;
  /** Returns the obstacle that keeps a rollout from beginning, as the caches show it. */
  readonly lockedBy: () => string | undefined;
  readonly guard: (decider: Decider) => Promise<Guarded>;
  /** Message about what the engines of the desired revision lack on GPUs. */
  readonly short: string | undefined;
  /** The status to write instead of the one that was decided. */
  readonly amend?: (next: RolloutReport) => RolloutReport | undefined;
  /** Returns the plan of the revisions that have pods; undefined: the record of the revision that serves is gone. */
  readonly plan: (status: RolloutReport) => P | undefined;
}

/** Result of a look at a rollout: a plan, or the status of one whose stable revision is unknown. `release` once the status is written. */
export type Planned<P> = ({ readonly plan: P | undefined } | { readonly lost: RolloutReport }) & { readonly release: () => void };

/** Parts that all plans have. */
interface RolloutParts {
  /** Children that stay although no desired state asks for them, as `group/plural/name`. */
  readonly keep: readonly string[];
  readonly shadow?: ShadowView | undefined;
}

const free = (): void => undefined;

/** Brings what was seen of a rollout to the state machine, and plans the children of its owner by the answer. */
export async function followRollout<P extends RolloutParts>(
  followers: Followers,
  rolloutOwner: RolloutOwner<P>,
  revisionsOf: (now: number) => Revisions<P>,
  signal: AbortSignal,
): Promise<Planned<P>> {
  try {
    return await follow(followers, rolloutOwner, revisionsOf, signal);
  } catch (error) {
    const before = rolloutReport(rolloutOwner.owner.status);
    if (!(error instanceof DamagedBook) || before === undefined) throw error;
    return { lost: { ...before, reason: 'BookUnreadable', message: error.message }, release: free };
  }
}

async function follow<P extends RolloutParts>(
  { context, trials }: Followers,
  { owner, policy, leaving }: RolloutOwner<P>,
  revisionsOf: (now: number) => Revisions<P>,
  signal: AbortSignal,
): Promise<Planned<P>> {
  if (policy === undefined) return { plan: leaving(), release: free };
  const before = rolloutReport(owner.status);
  const now = context.clock.now();
  if (policy.spec === undefined) return { lost: withoutPolicy(before, policy, now), release: free };
  const { spec } = policy;
  const revisions = revisionsOf(now);
  const { place, desired, recorded, incompatible, short, amend } = revisions;
  if (before?.stable !== undefined && before.stable !== desired && recorded?.has(before.stable) !== true)
    return { lost: recordLost(before, before.stable), release: free };
  const canaryEngines = enginesOf(trials, before, revisions);
  const retry = owner.metadata.annotations?.[rolloutAnnotations.retry];
  const golden = await trials.golden.look({ ...revisions.golden, place, status: before, spec, retry }, signal);
  const evidence = await trials.evidence({ ...revisions.trial, place, status: before, spec, golden, now }, signal);
  const orders = decidedBy(context.caches.orders.lister, owner.kind, owner);
  const seen = { desired, canaryEngines, incompatible, evidence, ...orders, retry, now };
  const decide = (lockedBy: string | undefined): RolloutReport => {
    const whole = withPlaces(progress(before, spec, { ...seen, lockedBy }, trials.designs), short);
    const next = withFullBook(whole, (id) => trials.isFull(place, id));
    return amend?.(next) ?? next;
  };
  const { status, release } = await revisions.guard({ before, lockedBy: revisions.lockedBy(), decide });
  try {
    const plan = revisions.plan(status);
    if (plan === undefined) return { lost: recordLost(status, status.stable ?? ''), release };
    const jobs = before?.id === status.id ? golden.keep.map((name) => identity(resources.jobs, name)) : [];
    return { plan: { ...plan, keep: [...plan.keep, ...jobs], shadow: trials.shadow(place, status) }, release };
  } catch (error) {
    // All other rollouts wait for it.
    release();
    throw error;
  }
}

/** Returns the state of the desired revision's engines; for one that was ready and is tried, the sum of their outages counts. */
function enginesOf({ outages }: Trials, before: RolloutReport | undefined, now: Pick<Revisions<unknown>, 'desired' | 'canaryEngines'>) {
  const { phase, id, canary } = before ?? {};
  const isTried = (phase === 'Shadowing' || phase === 'Canary') && canary === now.desired;
  return isTried && id !== undefined ? outages.over(id, now.canaryEngines) : now.canaryEngines;
}

/** Returns the decisions of people about the revision that is tried: by orders that stand. A rejection counts for more than an approval. */
function decidedBy(
  orders: Lister<AgentTaskOrder>,
  kind: RolloutTarget,
  { metadata, status }: Pick<ExpertPool | EnergyModel, 'metadata' | 'status'>,
): Pick<Seen, 'approved' | 'rejected'> {
  const canary = status?.rollout?.canary;
  const standing = orders
    .byIndex(rolloutOrderIndex, rolloutOrderKey(metadata.namespace, kind, metadata.name))
    .filter(({ spec, status: answer }) => spec.revision === canary && (answer?.state === undefined || answer.state === 'Accepted'));
  const has = (type: string): string | undefined => (standing.some(({ spec }) => spec.type === type) ? canary : undefined);
  return { approved: has('Approve'), rejected: has('Reject') };
}

function recordLost(status: RolloutReport, revision: string): RolloutReport {
  const message = `the ControllerRevision of revision ${revision}, which serves, is gone; bring it back, or remove spec.rolloutPolicyRef and set it again, by which what the spec says serves at once`;
  return { ...status, reason: 'RevisionLost', message };
}

type Placed = Pick<ExpertPoolStatus & EnergyModelStatus, 'plan' | 'rollout'>;

const cure = 'give a smaller budget, or remove a tenant; what serves stays where it is';

/** Reports the items of a revision that find no room beside what serves, with the least that they lack; undefined: none. Pure. */
export function shortOf(plan: Placed['plan'], items: readonly string[]): string | undefined {
  const words = items.flatMap((name) => {
    const first = plan?.rejected?.find(({ item }) => item === name);
    if (first === undefined) return [];
    const { slot, reason, shortByBytes: short } = first;
    const why = short === undefined ? reason : `lacks ${short} bytes (${(short / 2 ** 30).toFixed(1)} GiB)`;
    return [`${name}: ${slot === undefined ? reason : `${slot} ${why}`}`];
  });
  return words.length === 0 ? undefined : `no place on a GPU beside what serves: ${words.join('; ')}; ${cure}`;
}

/** Returns the reason why a revision that is tried cannot go on: an item of it had a place on a GPU and has lost it. Pure. */
export function lostOf({ rollout, plan }: Placed = {}, revision: string, items: readonly string[]): string | undefined {
  const tried = rollout?.canary === revision && isOpen(rollout) && rollout.phase !== 'Loading';
  if (!tried) return undefined;
  const seated = new Set((plan?.assignments ?? []).filter(({ admitted }) => admitted).map(({ item }) => item));
  const lost = items.filter((item) => !seated.has(item));
  return lost.length === 0 ? undefined : `${lost.join(', ')} lost its place on a GPU: what serves needs it`;
}

/** The status of a rollout with what its engines lack, while they come up. Pure. */
export function withPlaces(status: RolloutReport, short: string | undefined): RolloutReport {
  if (!isOpen(status) || status.phase !== 'Loading') return status;
  if (short !== undefined) return { ...status, reason: 'NoPlace', message: short.slice(0, 512) };
  const over = status.reason === 'NoPlace' || status.reason === 'BookUnreadable';
  return over ? { ...status, reason: 'Loading', message: 'its engines are coming up' } : status;
}

/** The status of a rollout that waits for data, with why no more tasks bring them. Pure. */
export function withFullBook(status: RolloutReport, isFull: (rollout: string) => boolean): RolloutReport {
  const { reason, id } = status;
  if ((reason !== 'Held' && reason !== 'InsufficientData') || id === undefined || !isFull(id)) return status;
  const why = `${mostTasks} tasks are counted, and no more will be: lower minSamples of the RolloutPolicy, or ask for another revision`;
  return { ...status, message: `${why}; ${status.message}`.slice(0, 512) };
}
