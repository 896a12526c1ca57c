import { reportedRollout, shadowCondition } from '../../revisions/index.ts';
import { rolloutCondition, wholeConditions } from '../../operands/conditions.ts';
import type { Obstacle } from '../expertpool/conditions.ts';
import { type EnergyModel, maxModelArms, type EnergyModelStatus, type ConditionType } from '@agentfleet/protocol/api';
import { itemOf } from '../../placement/index.ts';
import { holdersWall } from '../../operands/index.ts';
import { holdersName, verifierName } from '../../pools/names.ts';
import { type ConditionValue, identity, resources } from '../../runtime/resources.ts';
import { type PoolDecision, seated } from '../expertpool/decide.ts';
import { recordOf, type Manifest } from '../../operands/manifest.ts';
import { surplus, takenNames } from '../expertpool/children.ts';
import { bytesOfDemand, modelDemand, modelNeedsGpu } from '../placement/owners.ts';
import { seatOf, type Seat, rolledOut, serverUrl, servingOf, withImage, type Serving } from '../../serving/index.ts';
import { artifactFault, modelKeys, modelLabels, verifierDeployment, verifierService, verifierWall } from './manifests.ts';
import { asArm } from './rollouts.ts';
import type { ModelArm, ModelPlan, ModelSnapshot } from './snapshot.ts';
import { conditionsFor } from '@agentfleet/kube';
import { calibrationStatus, judgeCalibration, thresholdsInForce, armCalibration } from './calibration.ts';

/** The place of pods by the plan in force; those of a revision have one of their own. */
function seatOfModel(model: EnergyModel, revision?: string): Seat {
  return seatOf(modelNeedsGpu(model), model.status, itemOf(model.metadata.name, revision), { bytes: bytesOfDemand(modelDemand(model)) });
}

/** The pods of a model, or of one of its revisions. Those of an artifact that is not known are not made, and stay where they are. */
function podsOf(
  snapshot: ModelSnapshot,
  of: { readonly model: EnergyModel; readonly image: string },
  revision?: string,
): readonly Manifest[] {
  const { model, image } = of;
  if (artifactFault(model.spec.artifact.uri) !== undefined) return [];
  const { deployment, deployments = new Map(deployment === undefined ? [] : [[deployment.metadata.name, deployment] as const]) } = snapshot;
  return seated({ deployments }, seatOfModel(model, revision), verifierDeployment(model, image, snapshot.access, revision));
}

function plainParts(snapshot: ModelSnapshot): readonly Manifest[] {
  return [verifierService(snapshot.model), ...podsOf(snapshot, snapshot)];
}

/** Revisions side by side, and the address of the one that serves. */
function planParts(snapshot: ModelSnapshot, plan: ModelPlan): readonly Manifest[] {
  const { arms, serving, record, plain } = plan;
  const asked = snapshot.asked ?? snapshot;
  const each = (arm: ModelArm): readonly Manifest[] => [
    verifierService(asked.model, arm.revision),
    ...podsOf(snapshot, { model: asArm(asked.model, arm), image: arm.image }, arm.revision),
  ];
  return [
    ...(record === undefined ? [] : [recordOf(asked.model, modelLabels(asked.model), record)]),
    verifierService(asked.model, undefined, serving?.revision),
    ...arms.flatMap(each),
    ...(plain === 'Make' ? podsOf(snapshot, asked) : []),
  ];
}

/** Returns the obstacles to the pods that serve. */
function obstaclesOf({ model, plan }: ModelSnapshot): readonly Obstacle[] {
  const unknown = artifactFault(model.spec.artifact.uri);
  if (unknown !== undefined) return [{ reason: 'ArtifactUnknown', message: unknown }];
  const seat = seatOfModel(model, plan?.serving?.revision);
  return seat.kind === 'Unseated' && seat.reason !== undefined ? [{ reason: seat.reason, message: seat.message }] : [];
}

/** Decides which objects a model is to consist of, and which present ones are surplus. Pure: equal snapshots give equal decisions. */
export function decideModel(snapshot: ModelSnapshot): PoolDecision {
  const { model, operatorNamespace, prometheusNamespace, children, plan } = snapshot;
  const { name } = model.metadata;
  const walls = [
    verifierWall(model, operatorNamespace, prometheusNamespace),
    ...holdersWall(model, { name: holdersName(name, 'model'), labels: modelLabels(model) }),
  ];
  const apply = [...walls, modelKeys(model, snapshot.access), ...(plan === undefined ? plainParts(snapshot) : planParts(snapshot, plan))];
  const taken = takenNames(model, apply, children);
  if (taken.length > 0) {
    return { apply: [], remove: [], obstacles: taken.map((what) => ({ reason: 'NameTaken', message: `${what}; rename the model` })) };
  }
  const kept =
    plan === undefined
      ? [identity(resources.deployments, verifierName(name))]
      : [...plan.keep, ...plan.arms.map(({ revision }) => identity(resources.deployments, verifierName(name, revision)))];
  return { apply, remove: surplus(model, apply, children, kept), obstacles: obstaclesOf(snapshot) };
}

/**
 * Returns a message where the artifact is known to be another one than the spec demands: the server refused to start because
 * of it, or one that answers reports it. Undefined when it is not known.
 */
function mismatch({ model, deployment, info }: ModelSnapshot, { fault }: Serving): string | undefined {
  const { digest } = model.spec.artifact;
  if (digest === undefined) return undefined;
  const cure = 'correct spec.artifact.digest, or bring the image that has it';
  if (fault?.message.includes('AGENTFLEET_ARTIFACT_DIGEST') === true) return `${fault.message}; ${cure}`;
  // While pods are replaced the old ones may answer.
  const reported = info?.artifact ?? digest;
  if (reported === digest || !rolledOut(deployment, model.spec.resources.replicas)) return undefined;
  return `the pods tell ${reported}, and spec.artifact.digest is ${digest}; ${cure}`;
}

function servingNow(snapshot: ModelSnapshot, [obstacle]: readonly Obstacle[]): Serving {
  const { model, image, deployment, notes } = snapshot;
  const pods = snapshot.pods.filter(withImage(image));
  const serving = servingOf({ wanted: model.spec.resources.replicas, deployment, pods, notes, obstacle });
  const message = obstacle !== undefined ? undefined : mismatch(snapshot, serving);
  const phase = serving.ready > 0 ? 'Degraded' : 'Unavailable';
  return message === undefined ? serving : { ...serving, phase, fault: { reason: 'DigestMismatch', message, stalled: true } };
}

function wordOf({ fault, phase, ready }: Serving): ConditionValue {
  if (fault !== undefined) return { status: 'False', ...fault };
  // As with a Deployment, nothing is what was asked for.
  if (phase === 'Scaled') return { status: 'True', reason: 'ScaledToZero', message: 'spec.resources.replicas is 0, so nothing is scored' };
  return { status: 'True', reason: 'Ready', message: `${ready} pods score` };
}

type Arm = NonNullable<EnergyModelStatus['arms']>[number];

/** Pods that judge, with what their own calibration makes of their answers. */
function armStatus({ model, info }: Pick<ModelSnapshot, 'model' | 'info'>, revision: string | undefined, now: number): Arm {
  const judgement = judgeCalibration({ model, info }, now);
  return {
    endpoint: serverUrl(verifierName(model.metadata.name, revision), model.metadata.namespace ?? ''),
    // Of the artifact and not of the code around it: what spec.artifact.digest may demand.
    ...(info?.artifact == null ? {} : { digest: info.artifact }),
    thresholdsInForce: thresholdsInForce(model, judgement),
    ...armCalibration(judgement),
  };
}

/** Returns the verifiers that judge: first the one that does so for tasks without a revision. */
function armsNow(snapshot: ModelSnapshot, now: number): Arm[] {
  const { model, infos, plan } = snapshot;
  const only = armStatus(snapshot, plan?.serving?.revision, now);
  if (plan?.status === undefined) return [only];
  const arms = plan.arms.map((arm): Arm => {
    const { revision } = arm;
    return { revision, ...armStatus({ model: asArm(model, arm), info: infos?.get(revision) }, revision, now) };
  });
  // Before a rollout has a stable revision, the pods of before judge.
  return (plan.serving === undefined ? [only, ...arms] : arms).slice(0, maxModelArms);
}

/** Status of a model as it is after a decision. Pure. `now` is wall time in ms. */
export function modelStatus(snapshot: ModelSnapshot, obstacles: readonly Obstacle[], now: number): EnergyModelStatus {
  const { model, plan } = snapshot;
  const serving = servingNow(snapshot, obstacles);
  const judgement = judgeCalibration(snapshot, now);
  const { reported } = judgement;
  const shadow = shadowCondition(plan?.status, plan?.shadow, now);
  const words: readonly (readonly [ConditionType<'EnergyModel'>, ConditionValue | undefined])[] = [
    ['Calibrated', judgement.conditionValue],
    ['RolloutHealthy', rolloutCondition(plan?.status)],
    ['ShadowHealthy', shadow],
  ];
  return {
    observedGeneration: model.metadata.generation ?? 0,
    conditions: conditionsFor(model, [...wholeConditions(wordOf(serving)), ...words], now),
    ready: serving.ready,
    ...(reported === undefined ? {} : { calibration: calibrationStatus(reported) }),
    arms: armsNow(snapshot, now),
    ...(plan?.status === undefined ? {} : { rollout: reportedRollout(plan.status) }),
  };
}
