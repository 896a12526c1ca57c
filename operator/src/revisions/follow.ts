import { type AgentTaskOrder, type EnergyModelStatus, type ExpertPoolStatus, rolloutAnnotations } from '@agentfleet/protocol/api';
import { labels } from '@agentfleet/protocol/pool';
import type { Lister } from '@agentfleet/kube';
import { rolloutLedgerName } from '../pools/names.ts';
import { rolloutOrderIndex, rolloutOrderKey } from '../runtime/caches.ts';
import type { OperatorContext } from '../runtime/context.ts';
import { identity, resources } from '../runtime/resources.ts';
import { revisionIndex } from '../runtime/taskCensus.ts';
import { modelLockedBy, poolLockedBy, type Decider, type RolloutLock } from './arm.ts';
import type { GoldenQuestion } from './goldenSets.ts';
import { DamagedBook, mostTasks, type LedgerPlace } from './ledger.ts';
import { isPool, ownerKind, type PlanOf, type RolloutOwner } from './plan.ts';
import { type NamedPolicy, withoutPolicy } from './policy.ts';
import { isOpen, progress, type Seen } from './progress.ts';
import { rolloutReport, type RolloutReport } from './report.ts';
import type { Trial, Trials } from './trials.ts';

/** Dependencies for following the rollouts of pools and of models. */
export interface Followers {
  readonly context: OperatorContext;
  readonly trials: Trials;
  readonly lock: RolloutLock;
}

/** Reports whether an unfinished task works with a revision, or is judged by it. */
export type InUse = (revision: string) => boolean;

/** The pool or model that a rollout is of. */
interface Followed<P, T> {
  readonly owner: RolloutOwner;
  readonly policy: NamedPolicy | undefined;
  /** Returns the rest of a rollout where no policy is named any more. */
  readonly leaving: (inUse: InUse) => P | undefined;
  /** Brings about what was planned, and writes it down. */
  readonly act: (planned: Planned<P>) => Promise<T>;
}

/** The revisions of an owner, as its controller knows them. */
export interface Revisions<P> extends Pick<Seen, 'canaryEngines' | 'incompatible'> {
  /** The revision that the spec asks for. */
  readonly desired: string;
  readonly recorded: ReadonlyMap<string, unknown> | undefined;
  readonly golden: Pick<GoldenQuestion, 'serviceAccount' | 'ready' | 'arm' | 'jobs' | 'pods' | 'notes'>;
  readonly trial: Pick<Trial, 'pods' | 'heldOut' | 'maps'>;
  /** Message about what the engines of the desired revision lack on GPUs. */
  readonly short: string | undefined;
  /** The status to write instead of the one that was decided. */
  readonly amend?: (next: RolloutReport) => RolloutReport | undefined;
  /** Returns the plan of the revisions that have pods; undefined: the record of the revision that serves is gone. */
  readonly plan: (status: RolloutReport, inUse: InUse) => P | undefined;
}

/** Result of a look at a rollout: a plan, or the status of one whose stable revision is unknown. */
export type Planned<P> = { readonly plan: P | undefined } | { readonly lost: RolloutReport };

type RolloutParts = Pick<PlanOf<never>, 'keep' | 'shadow'>;

/** Brings what was seen of a rollout to the state machine, plans the children of its owner by the answer, and acts. */
export async function followRollout<P extends RolloutParts, T>(
  followers: Followers,
  followed: Followed<P, T>,
  revisionsOf: (now: number) => Revisions<P>,
  signal: AbortSignal,
): Promise<T> {
  try {
    return await follow(followers, followed, revisionsOf, signal);
  } catch (error) {
    const before = rolloutReport(followed.owner.status);
    if (!(error instanceof DamagedBook) || before === undefined) throw error;
    return followed.act({ lost: { ...before, reason: 'BookUnreadable', message: error.message } });
  }
}

async function follow<P extends RolloutParts, T>(
  followers: Followers,
  { owner, policy, leaving, act }: Followed<P, T>,
  revisionsOf: (now: number) => Revisions<P>,
  signal: AbortSignal,
): Promise<T> {
  const { context, trials } = followers;
  const inUse: InUse = (revision) => context.caches.tasks.lister.byIndex(revisionIndex, revision).length > 0;
  if (policy === undefined) return act({ plan: leaving(inUse) });
  const before = rolloutReport(owner.status);
  const now = context.clock.now();
  if (policy.spec === undefined) return act({ lost: withoutPolicy(before, policy, now) });
  const { spec } = policy;
  const revisions = revisionsOf(now);
  const { desired, recorded, incompatible, short, amend } = revisions;
  if (before?.stable !== undefined && before.stable !== desired && recorded?.has(before.stable) !== true)
    return act({ lost: recordLost(before, before.stable) });
  const { place, golden: question, arm } = meansOf(owner);
  const canaryEngines = enginesOf(trials, before, revisions);
  const retry = owner.metadata.annotations?.[rolloutAnnotations.retry];
  const golden = await trials.golden.look({ ...revisions.golden, ...question, place, status: before, spec, retry }, signal);
  const evidence = await trials.evidence({ ...revisions.trial, arm, place, status: before, spec, golden, now }, signal);
  const orders = decidedBy(context.caches.orders.lister, owner);
  const seen = { desired, canaryEngines, incompatible, evidence, ...orders, retry, now };
  const decide = (lockedBy: string | undefined): RolloutReport => {
    const whole = withPlaces(progress(before, spec, { ...seen, lockedBy }, trials.designs), short);
    const next = withFullBook(whole, (id) => trials.isFull(place, id));
    return amend?.(next) ?? next;
  };
  const carryOut = (status: RolloutReport): Promise<T> => {
    const plan = revisions.plan(status, inUse);
    if (plan === undefined) return act({ lost: recordLost(status, status.stable ?? '') });
    const jobs = before?.id === status.id ? golden.keep.map((name) => identity(resources.jobs, name)) : [];
    return act({ plan: { ...plan, keep: [...plan.keep, ...jobs], shadow: trials.shadow(place, status) } });
  };
  return guarded(followers, owner, { before, decide, act: carryOut }, signal);
}

/** Returns the names and labels that differ between a pool and a model. */
function meansOf(owner: RolloutOwner): {
  readonly place: LedgerPlace;
  readonly golden: Pick<GoldenQuestion, 'kind' | 'labels'>;
  readonly arm: Trial['arm'];
} {
  const kind = ownerKind(owner);
  const { name } = owner.metadata;
  const own = { [labels[kind]]: name };
  const component = kind === 'pool' ? 'expert' : 'verifier';
  return {
    place: { owner, name: rolloutLedgerName(name, kind), labels: { [labels.component]: component, ...own } },
    golden: { kind, labels: own },
    arm: kind === 'pool' ? 'revision' : 'verifierRevision',
  };
}

/** Decides with the obstacle that keeps a rollout from beginning, as the caches show it; one that begins holds the lock. */
function guarded<T>(
  { context: { caches }, lock }: Followers,
  owner: RolloutOwner,
  decider: Omit<Decider<T>, 'lockedBy'>,
  signal: AbortSignal,
): Promise<T> {
  const { name, namespace = '' } = owner.metadata;
  if (!isPool(owner))
    return lock.ofModel(owner, { ...decider, lockedBy: modelLockedBy(name, caches.pools.lister.list({ namespace })) }, signal);
  const judge = owner.spec.energyModelRef?.name;
  const model = judge === undefined ? undefined : caches.energyModels.lister.get(`${namespace}/${judge}`);
  return lock.ofPool(owner, { ...decider, lockedBy: poolLockedBy(model) }, signal);
}

/** Returns the state of the desired revision's engines; for one that was ready and is tried, the sum of their outages counts. */
function enginesOf({ outages }: Trials, before: RolloutReport | undefined, now: Pick<Revisions<unknown>, 'desired' | 'canaryEngines'>) {
  const { phase, id, canary } = before ?? {};
  const isTried = (phase === 'Shadowing' || phase === 'Canary') && canary === now.desired;
  return isTried && id !== undefined ? outages.over(id, now.canaryEngines) : now.canaryEngines;
}

/** Returns the decisions of people about the revision that is tried: by orders that stand. A rejection counts for more than an approval. */
function decidedBy(orders: Lister<AgentTaskOrder>, { kind, metadata, status }: RolloutOwner): Pick<Seen, 'approved' | 'rejected'> {
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
