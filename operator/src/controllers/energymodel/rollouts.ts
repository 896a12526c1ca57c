import { type RolloutStatus, rolloutAnnotations, type EnergyModel, type RolloutPolicySpec } from '@agentfleet/protocol/api';
import type { GoldenArm } from '@agentfleet/protocol/golden';
import { labels } from '@agentfleet/protocol/pool';
import {
  decidedBy,
  type GoldenQuestion,
  isOpen,
  modelLockedBy,
  progress,
  type GoldenView,
  type LedgerPlace,
  type RolloutLock,
  type Seen,
  type Trials,
  withoutPolicy,
} from '../../revisions/index.ts';
import { type Job, resources } from '../../runtime/resources.ts';
import { verifierArms } from '../expertpool/manifests/brief.ts';
import type { ModelSnapshot, ModelArm, ModelPlan } from './snapshot.ts';
import { featureSet, type ModelCalibration } from '@agentfleet/protocol/inference';
import { itemOf } from '../../placement/index.ts';
import { rolloutLedgerName, verifierName } from '../../pools/names.ts';
import type { CalibrationMaps, HeldOut } from '../../rollout/index.ts';
import type { OperatorContext } from '../../runtime/context.ts';
import { revisionIndex } from '../../runtime/taskCensus.ts';
import { exceeded, rolledOut, type ServerInfo } from '../../serving/index.ts';
import { keptJobs, lostOf, shortOf, withPlaces } from '../expertpool/rollouts.ts';
import { artifactFault, modelLabels } from './manifests.ts';
import { modelNeedsGpu } from '../placement/owners.ts';
import { judgeCalibration, type Judgement } from './calibration.ts';
import { desiredModel, leavingModel, modelPlan, type InUse } from './rolloutPlan.ts';

/** What is asked of the golden sets of a model, apart from where its book lies and what its rollout says. */
export type ModelSets = Pick<GoldenQuestion, 'kind' | 'labels' | 'status' | 'ready' | 'arm' | 'jobs' | 'pods'>;

/** How golden sets find the revisions of a model: as its status tells where they answer. Pure. */
function modelSets(snapshot: ModelSnapshot, ready: (revision: string) => boolean): ModelSets {
  const { model, children, goldenPods = [] } = snapshot;
  const { name, namespace = '' } = model.metadata;
  const status: RolloutStatus | undefined = model.status?.rollout;
  const arm = (revision: string, rollout: string): GoldenArm | undefined => {
    const found = verifierArms(model).verifierArms?.find((known) => known.revision === revision);
    if (found === undefined) return undefined;
    return { kind: 'EnergyModel', name, namespace, revision, rollout, experts: [], verifier: found.verifier };
  };
  return {
    kind: 'model',
    labels: { [labels.model]: name },
    status,
    ready,
    arm,
    jobs: children.flatMap(({ resource, object }) => (resource === resources.jobs ? [object as Job] : [])),
    pods: goldenPods,
  };
}

/** What became of a look at the rollout of a model. `release` once the status is written. */
export type PlannedModel =
  { readonly plan: ModelPlan | undefined; readonly release: () => void } | { readonly lost: RolloutStatus; readonly release: () => void };

const free = (): void => undefined;

/** Follows the rollouts of models: brings what was seen to the machine, and makes plans of what it says. */
export class ModelRollouts {
  readonly #context: OperatorContext;
  readonly #trials: Trials;
  readonly #lock: RolloutLock;

  constructor(context: OperatorContext, trials: Trials, lock: RolloutLock) {
    this.#context = context;
    this.#trials = trials;
    this.#lock = lock;
  }

  /** How the rollout of a model goes on, and what the model consists of meanwhile. */
  async plan(snapshot: ModelSnapshot, signal: AbortSignal): Promise<PlannedModel> {
    const { model, recorded, policy } = snapshot;
    const { lister } = this.#context.caches.tasks;
    const inUse: InUse = (revision) => lister.byIndex(revisionIndex, revision).length > 0;
    if (policy === undefined) return { plan: leavingModel(snapshot, inUse), release: free };
    const before = model.status?.rollout;
    const now = this.#context.clock.now();
    if (policy.spec === undefined) return { lost: withoutPolicy(before, policy, now), release: free };
    const { spec } = policy;
    const { stable } = before ?? {};
    if (before !== undefined && stable !== undefined && recorded?.has(stable) !== true && desiredModel(snapshot).revision !== stable)
      return { lost: unrecorded(before, stable), release: free };
    const golden = await this.#golden(snapshot, spec, now, signal);
    const seen = await this.#see(snapshot, spec, { now, golden }, signal);
    const short = shortOf(model.status?.plan, itemsIn(model, desiredModel(snapshot)));
    const decide = (lockedBy: string | undefined): RolloutStatus => {
      const next = withPlaces(progress(before, spec, { ...seen, lockedBy }, this.#trials.designs), short);
      return uncalibrated(snapshot, before, next, now) ?? next;
    };
    const { status, release } = await this.#lock.ofModel(model, { before, lockedBy: seen.lockedBy, decide }, signal);
    const plan = modelPlan(snapshot, status, inUse, now);
    if (plan === undefined) return { lost: unrecorded(status, status.stable ?? ''), release };
    const keep = [...plan.keep, ...keptJobs(golden, before, status)];
    return { plan: { ...plan, keep, shadow: this.#trials.shadow(placeOf(model), status) }, release };
  }

  #golden(snapshot: ModelSnapshot, spec: RolloutPolicySpec, now: number, signal: AbortSignal): Promise<GoldenView> {
    const { model } = snapshot;
    const sets = modelSets(snapshot, (revision) => enginesOf(snapshot, { revision }, now) === 'Ready');
    const retry = model.metadata.annotations?.[rolloutAnnotations.retry];
    return this.#trials.golden.look({ ...sets, place: placeOf(model), spec, retry }, signal);
  }

  async #see(
    snapshot: ModelSnapshot,
    spec: RolloutPolicySpec,
    { now, golden }: { readonly now: number; readonly golden: GoldenView },
    signal: AbortSignal,
  ): Promise<Seen> {
    const { model, allPods, infos } = snapshot;
    const { metadata, status } = model;
    const desired = desiredModel(snapshot);
    const place = placeOf(model);
    const pods = (revision: string): ModelSnapshot['pods'] => allPods?.get(revision) ?? [];
    const heldOut = (revision: string): HeldOut | undefined => heldOutOf(infos?.get(revision));
    const maps = (revision: string): CalibrationMaps | undefined => mapsOf(model, infos?.get(revision));
    const trial = { place, arm: 'verifierRevision', status: status?.rollout, spec, pods, heldOut, maps, golden, now } as const;
    const evidence = await this.#trials.evidence(trial, signal);
    const pools = this.#context.caches.pools.lister.list({ namespace: metadata.namespace ?? '' });
    return {
      desired: desired.revision,
      canaryEngines: enginesOf(snapshot, desired, now),
      incompatible:
        artifactFault(model.spec.artifact.uri) ??
        abstaining(model, infos?.get(desired.revision), now) ??
        lostOf(status, desired.revision, itemsIn(model, desired)),
      lockedBy: modelLockedBy(metadata.name, pools),
      evidence,
      ...decidedBy(this.#context.caches.orders.lister, 'EnergyModel', model),
      retry: metadata.annotations?.[rolloutAnnotations.retry],
      now,
    };
  }
}

/** The book of a model's rollouts. */
const placeOf = (model: EnergyModel): LedgerPlace => ({
  owner: model,
  name: rolloutLedgerName(model.metadata.name, 'model'),
  labels: modelLabels(model),
});

/** What a revision is called in the ledger of GPUs; nothing for one that needs none. */
const itemsIn = (model: EnergyModel, { revision }: ModelArm): readonly string[] =>
  modelNeedsGpu(model) ? [itemOf(model.metadata.name, revision)] : [];

const judged = (model: EnergyModel, info: ServerInfo | undefined, now: number): Judgement => judgeCalibration({ model, info }, now);

/** Why a revision abstains from judging, although the spec asks for probabilities that count; undefined while nobody knows. */
function abstaining(model: EnergyModel, info: ServerInfo | undefined, now: number): string | undefined {
  const { conditionValue, demanded } = judged(model, info, now);
  if (!demanded || info === undefined || conditionValue.status === 'True') return undefined;
  return `its calibration is not in force (${conditionValue.reason}): ${conditionValue.message}`;
}

/**
 * Instead of a status that promotes a revision of which nobody knows whether its probabilities count, where that is asked
 * for: the one before, and what is waited for.
 */
function uncalibrated(
  { model, infos }: ModelSnapshot,
  before: RolloutStatus | undefined,
  next: RolloutStatus,
  now: number,
): RolloutStatus | undefined {
  if (before === undefined || before.stable === undefined || next.stable === before.stable) return undefined;
  const { conditionValue, demanded } = judged(model, infos?.get(next.stable ?? ''), now);
  if (!demanded || conditionValue.status === 'True') return undefined;
  const message = `its calibration is not known to be in force (${conditionValue.reason}): ${conditionValue.message}; it is not promoted before it is`;
  return { ...before, reason: 'Held', message: message.slice(0, 512) };
}

/** How far the pods of a revision are. Where a calibration is demanded, one is not ready to be tried before it reported its own. */
function enginesOf(
  { model, deployments, infos }: ModelSnapshot,
  { revision }: Pick<ModelArm, 'revision'>,
  now: number,
): Seen['canaryEngines'] {
  const { replicas } = model.spec.resources;
  const deployment = deployments?.get(verifierName(model.metadata.name, revision));
  if (exceeded(deployment)) return 'Failed';
  if (!rolledOut(deployment, replicas)) return 'Loading';
  const info = infos?.get(revision);
  const tried = model.status?.rollout;
  const silent = replicas > 0 && info === undefined && isOpen(tried) && tried?.phase === 'Loading';
  return silent && judged(model, info, now).demanded ? 'Loading' : 'Ready';
}

/** The calibration that a verifier tells, or why it cannot count; undefined: it tells none. */
function reportedOf({ calibration }: Partial<ServerInfo> = {}): ModelCalibration | { readonly fault: string } | undefined {
  if (calibration === undefined || 'fault' in calibration || calibration.featureSet === featureSet) return calibration;
  return { fault: `it was calibrated with ${calibration.featureSet}, and workers send ${featureSet}` };
}

/** What a verifier tells of problems that it never saw. */
function heldOutOf(info: ServerInfo | undefined): HeldOut | undefined {
  const reported = reportedOf(info);
  if (reported === undefined || 'fault' in reported) return reported;
  return {
    heads: reported.heads.map(({ name, auc, ece, brier, samples }) => ({
      name,
      auc,
      ece,
      samples,
      ...(brier === undefined ? {} : { brier }),
    })),
  };
}

/** How it makes probabilities of energies, and from which one on acts pass: by its own thresholds, or by those of the spec. */
function mapsOf({ spec: { thresholds } }: EnergyModel, info: ServerInfo | undefined): CalibrationMaps | undefined {
  const reported = reportedOf(info);
  if (reported === undefined || 'fault' in reported) return reported;
  const fixed = thresholds.source === 'Fixed' ? Number(thresholds.vetoBelowProbability) : undefined;
  return {
    heads: reported.heads.map(({ name, samples, knots, vetoBelowProbability }) => ({
      name,
      samples,
      knots,
      veto: fixed ?? vetoBelowProbability,
    })),
  };
}

function unrecorded(status: RolloutStatus, revision: string): RolloutStatus {
  const message = `the ControllerRevision of revision ${revision}, which serves, is gone; bring it back, or remove spec.rolloutPolicyRef and set it again, by which what the spec says serves at once`;
  return { ...status, reason: 'RevisionLost', message };
}
