import { defaultLambda, type EnergyModel } from '@agentfleet/protocol/api';
import type { GoldenArm } from '@agentfleet/protocol/golden';
import { energyHeads, featureSet, type ModelCalibration } from '@agentfleet/protocol/inference';
import { itemOf } from '../../placement/index.ts';
import { verifierName } from '../../pools/names.ts';
import {
  followRollout,
  isOpen,
  lostOf,
  numbered,
  planOfRest,
  planRevisions,
  recordsOf,
  revisionOf,
  rolloutReport,
  shortOf,
  type Followers,
  type InUse,
  type Planned,
  type Recorded,
  type Revisions,
  type RolloutReport,
  type Seen,
} from '../../revisions/index.ts';
import type { CalibrationMaps } from '../../rollout/index.ts';
import { type ControllerRevision, identity, type Job, resources } from '../../runtime/resources.ts';
import { engineState, rolledOut, type ServerInfo } from '../../serving/index.ts';
import { demandsCalibration, verifierArms } from '../expertpool/manifests/brief.ts';
import { modelNeedsGpu } from '../placement/owners.ts';
import { judgeCalibration } from './calibration.ts';
import { artifactFault } from './manifests.ts';
import type { ModelArm, ModelPlan, ModelSnapshot, ServedModel } from './snapshot.ts';

/** Returns the served part of a spec; thresholds, demands and number of pods are policy, which holds for all revisions at once. Pure. */
function servedOf({ artifact, lambda, heads, resources }: EnergyModel['spec']): ServedModel {
  const own = new Map((heads ?? []).map((head) => [head.name, head.lambda]));
  return {
    artifact,
    lambda,
    // Written out, so that a revision stays what it was when defaults change.
    heads: energyHeads.map((name) => ({ name, lambda: own.get(name) ?? defaultLambda[name] })),
    ...(resources.container === undefined ? {} : { container: resources.container }),
  };
}

/** The model as one of its revisions has it, under the policy of now. Pure. */
export function asArm(model: EnergyModel, { served }: Pick<ModelArm, 'served'>): EnergyModel {
  const { artifact, lambda, heads, container } = served;
  const { container: _, ...wanted } = model.spec.resources;
  const resources = { ...wanted, ...(container === undefined ? {} : { container }) };
  return { ...model, spec: { ...model.spec, artifact, lambda, heads: [...heads], resources } };
}

/** Revisions that a model has on record. Pure. */
export function recordedModels(model: EnergyModel, records: readonly ControllerRevision[]): ReadonlyMap<string, Recorded<ModelArm>> {
  return recordsOf(model, records, (data) => {
    const { revision, served, image } = data as Partial<ModelArm>;
    return revision === undefined || served === undefined || image === undefined ? undefined : { revision, served, image };
  });
}

/** The revision that the spec asks for. Pure. */
function desiredModel({ model, image, recorded }: Pick<ModelSnapshot, 'model' | 'image' | 'recorded'>): Recorded<ModelArm> {
  const served = servedOf(model.spec);
  // Another order in the spec is no other revision.
  return numbered({ revision: revisionOf(model.metadata.uid ?? '', { served, image }), served, image }, recorded);
}

function modelPlan(snapshot: ModelSnapshot, status: RolloutReport, inUse: InUse, now: number): ModelPlan | undefined {
  const { model, policy, recorded, deployment, deployments } = snapshot;
  const { name } = model.metadata;
  const hasPods = ({ revision }: ModelArm): boolean => deployments?.has(verifierName(name, revision)) === true;
  const keys = [identity(resources.deployments, verifierName(name))];
  const plain = { keys, isThere: deployment !== undefined, inUse: () => false };
  const plan = planRevisions({ owner: model, policy, desired: desiredModel(snapshot), recorded, inUse, hasPods, plain }, status, now);
  if (plan === undefined) return undefined;
  const fromBefore = status.stable === undefined && deployment !== undefined;
  return { ...plan, serving: fromBefore ? undefined : plan.serving, plain: 'Keep' };
}

/**
 * Returns the rest of a rollout whose model has none any more: its stable revision serves until the pods that follow answer,
 * and others stay until no task is judged by them. Undefined: nothing is left. Pure.
 */
function leavingModel(snapshot: ModelSnapshot, inUse: InUse): ModelPlan | undefined {
  const { model, recorded, deployment } = snapshot;
  if (recorded === undefined || recorded.size === 0) return undefined;
  const before = rolloutReport(model.status);
  const serving = recorded.get(before?.stable ?? '');
  const follows = serving === undefined || rolledOut(deployment, model.spec.resources.replicas);
  const rest = [...recorded.values()].filter(({ revision }) => inUse(revision));
  if (follows && rest.length === 0) return undefined;
  return {
    ...planOfRest(model, recorded),
    status: follows || before === undefined ? undefined : leavingStatus(before),
    serving: follows ? undefined : serving,
    arms: follows ? rest : [...new Set([serving, ...rest])],
    plain: 'Make',
  };
}

function leavingStatus(status: RolloutReport): RolloutReport {
  const { canary: _, id: __, gates: ___, ...before } = status;
  const message = 'spec.rolloutPolicyRef was removed: pods of what the spec says follow, and the stable revision serves until they answer';
  return { ...before, phase: 'Idle', weight: 0, step: 0, reason: 'Leaving', message };
}

/** The model as its tasks see it: what serves, its pods and what they report. Pure. */
export function withModelPlan(snapshot: ModelSnapshot, plan: ModelPlan | undefined): ModelSnapshot {
  if (plan === undefined) return snapshot;
  const { serving } = plan;
  if (serving === undefined) return { ...snapshot, plan };
  const { model, deployments } = snapshot;
  return {
    ...snapshot,
    plan,
    asked: { model, image: snapshot.image },
    model: asArm(model, serving),
    image: serving.image,
    deployment: deployments?.get(verifierName(model.metadata.name, serving.revision)),
    pods: snapshot.allPods?.get(serving.revision) ?? [],
    info: snapshot.infos?.get(serving.revision),
  };
}

/** Decides how the rollout of a model goes on, and what the model consists of meanwhile. */
export function planModel<T>(
  followers: Followers,
  snapshot: ModelSnapshot,
  signal: AbortSignal,
  act: (planned: Planned<ModelPlan>) => Promise<T>,
): Promise<T> {
  const { model, recorded, policy, allPods, infos } = snapshot;
  const revisionsOf = (now: number): Revisions<ModelPlan> => {
    const desired = desiredModel(snapshot);
    const items = itemsIn(model, desired);
    return {
      desired: desired.revision,
      recorded,
      golden: goldenSets(snapshot, (revision) => enginesOf(snapshot, { revision }, now) === 'Ready'),
      trial: {
        pods: (revision) => allPods?.get(revision) ?? [],
        heldOut: (revision) => reportedOf(infos?.get(revision)),
        maps: (revision) => mapsOf(model, infos?.get(revision)),
      },
      canaryEngines: enginesOf(snapshot, desired, now),
      incompatible:
        artifactFault(model.spec.artifact.uri) ??
        abstaining(model, infos?.get(desired.revision), now) ??
        lostOf(model.status, desired.revision, items),
      short: shortOf(model.status?.plan, items),
      amend: (next) => uncalibrated(snapshot, next, now),
      plan: (status, inUse) => modelPlan(snapshot, status, inUse, now),
    };
  };
  const leaving = (inUse: InUse): ModelPlan | undefined => leavingModel(snapshot, inUse);
  return followRollout(followers, { owner: model, policy, leaving, act }, revisionsOf, signal);
}

/** Returns the means by which golden sets find the revisions of a model: at the addresses of its status. */
function goldenSets(
  { model, children, notes, goldenPods = [] }: ModelSnapshot,
  ready: (revision: string) => boolean,
): Revisions<ModelPlan>['golden'] {
  const { name, namespace = '' } = model.metadata;
  const arm = (revision: string, rollout: string): GoldenArm | undefined => {
    const found = verifierArms(model).verifierArms?.find((known) => known.revision === revision);
    if (found === undefined) return undefined;
    return { kind: 'EnergyModel', name, namespace, revision, rollout, experts: [], verifier: found.verifier };
  };
  return {
    ready,
    arm,
    jobs: children.flatMap(({ resource, object }) => (resource === resources.jobs ? [object as Job] : [])),
    pods: goldenPods,
    notes,
  };
}

/** Returns the name of a revision in the ledger of GPUs; nothing for one that needs none. */
const itemsIn = (model: EnergyModel, { revision }: ModelArm): readonly string[] =>
  modelNeedsGpu(model) ? [itemOf(model.metadata.name, revision)] : [];

/** Reports why a revision abstains from judging, although the spec asks for probabilities that count; undefined while that is unknown. */
function abstaining(model: EnergyModel, info: ServerInfo | undefined, now: number): string | undefined {
  const { conditionValue, demanded } = judgeCalibration({ model, info }, now);
  if (!demanded || info === undefined || conditionValue.status === 'True') return undefined;
  return `its calibration is not in force (${conditionValue.reason}): ${conditionValue.message}`;
}

/**
 * Instead of a status that promotes a revision of which it is unknown whether its probabilities count, where that is asked
 * for: the one before, and what is waited for.
 */
function uncalibrated({ model, infos }: ModelSnapshot, next: RolloutReport, now: number): RolloutReport | undefined {
  const before = rolloutReport(model.status);
  if (before === undefined || before.stable === undefined || next.stable === before.stable) return undefined;
  const { conditionValue, demanded } = judgeCalibration({ model, info: infos?.get(next.stable ?? '') }, now);
  if (!demanded || conditionValue.status === 'True') return undefined;
  const message = `its calibration is not known to be in force (${conditionValue.reason}): ${conditionValue.message}; it is not promoted before it is`;
  return { ...before, reason: 'Held', message: message.slice(0, 512) };
}

/** Returns the state of a revision's pods. Where a calibration is demanded, one is not ready to be tried before it reported its own. */
function enginesOf(
  { model, deployments, infos }: ModelSnapshot,
  { revision }: Pick<ModelArm, 'revision'>,
  now: number,
): Seen['canaryEngines'] {
  const { replicas } = model.spec.resources;
  const deployment = deployments?.get(verifierName(model.metadata.name, revision));
  const state = engineState([{ deployment, replicas }], now);
  if (state !== 'Ready') return state;
  const info = infos?.get(revision);
  const tried = model.status?.rollout;
  const silent = replicas > 0 && info === undefined && isOpen(tried) && tried?.phase === 'Loading';
  return silent && demandsCalibration(model) ? 'Loading' : 'Ready';
}

/** The calibration that a verifier reports, or why it cannot count; undefined: it reports none. */
function reportedOf({ calibration }: Partial<ServerInfo> = {}): ModelCalibration | { readonly fault: string } | undefined {
  if (calibration === undefined || 'fault' in calibration || calibration.featureSet === featureSet) return calibration;
  return { fault: `it was calibrated with ${calibration.featureSet}, and workers send ${featureSet}` };
}

/** Returns the maps from energies to probabilities, and the one from which on acts pass: by its own thresholds, or by those of the spec. */
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
