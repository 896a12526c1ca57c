import type { EnergyModel } from '@agentfleet/protocol/api';
import { itemOf } from '../../placement/index.ts';
import { verifierName } from '../../pools/names.ts';
import { resources } from '../../runtime/resources.ts';
import type { Obstacle, PoolDecision } from '../expertpool/decide.ts';
import type { Manifest } from '../expertpool/manifests/manifest.ts';
import { identity, surplus, takenNames } from '../expertpool/ownership.ts';
import { seated } from '../expertpool/seating.ts';
import { modelNeedsGpu } from '../placement/owners.ts';
import { seatOf, type Seat } from '../../serving/index.ts';
import { artifactFault } from './artifacts.ts';
import {
  modelHoldersWall,
  modelKeys,
  modelLabels,
  servingService,
  verifierDeployment,
  verifierService,
  verifierWall,
} from './manifests.ts';
import { asArm, modelRecord } from './rollout/arms.ts';
import type { ModelArm, ModelPlan, ModelSnapshot } from './snapshot.ts';

/** What is to be written for a model, in the order in which it is made. */
export type ModelDecision = PoolDecision;

/** The place of pods by the plan in force; those of a revision have one of their own. */
function seatOfModel(model: EnergyModel, revision?: string): Seat {
  return seatOf(modelNeedsGpu(model), model.status, itemOf(model.metadata.name, revision));
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
    ...(record === undefined ? [] : [modelRecord(asked.model, modelLabels(asked.model), record)]),
    serving === undefined ? verifierService(asked.model) : servingService(asked.model, serving.revision),
    ...arms.flatMap(each),
    ...(plain === 'Make' ? podsOf(snapshot, asked) : []),
  ];
}

/** What stands in the way of the pods that serve. */
function obstaclesOf({ model, plan }: ModelSnapshot): readonly Obstacle[] {
  const unknown = artifactFault(model.spec.artifact.uri);
  if (unknown !== undefined) return [{ reason: 'ArtifactUnknown', message: unknown }];
  const seat = seatOfModel(model, plan?.serving?.revision);
  return seat.kind === 'Unseated' && seat.reason !== undefined ? [{ reason: seat.reason, message: seat.message }] : [];
}

/** What a model is to consist of, and what of it is too much. Pure: equal snapshots give equal decisions. */
export function decideModel(snapshot: ModelSnapshot): ModelDecision {
  const { model, operatorNamespace, prometheusNamespace, children, plan } = snapshot;
  const { name } = model.metadata;
  const walls = [verifierWall(model, operatorNamespace, prometheusNamespace), ...modelHoldersWall(model)];
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
