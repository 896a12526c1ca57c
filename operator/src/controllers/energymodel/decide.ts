import { verifierName } from '../../pools/names.ts';
import { resources } from '../../runtime/resources.ts';
import type { PoolDecision } from '../expertpool/decide.ts';
import { identity, surplus, takenNames } from '../expertpool/ownership.ts';
import { seated } from '../expertpool/seating.ts';
import { modelOwner } from '../placement/owners.ts';
import { seatOf } from '../../serving/index.ts';
import { artifactFault } from './artifacts.ts';
import { verifierDeployment, verifierService, verifierWall } from './manifests.ts';
import type { ModelSnapshot } from './snapshot.ts';

/** What is to be written for a model, in the order in which it is made. */
export type ModelDecision = PoolDecision;

/**
 * What a model is to consist of, and what of it is too much. Pods of an artifact that is not known are not made, and those
 * that are there stay as they are. Pure: equal snapshots give equal decisions.
 */
export function decideModel({ model, image, operatorNamespace, children, deployment }: ModelSnapshot): ModelDecision {
  const { name } = model.metadata;
  const seat = seatOf(modelOwner(model).wishes.length > 0, model.status, name);
  const deployments = new Map(deployment === undefined ? [] : [[deployment.metadata.name, deployment] as const]);
  const unknown = artifactFault(model.spec.artifact.uri);
  const apply = [
    verifierWall(model, operatorNamespace),
    verifierService(model),
    ...(unknown === undefined ? seated({ deployments }, seat, verifierDeployment(model, image)) : []),
  ];
  const taken = takenNames(model, apply, children);
  if (taken.length > 0) {
    return { apply: [], remove: [], obstacles: taken.map((what) => ({ reason: 'NameTaken', message: `${what}; rename the model` })) };
  }
  const kept = [identity(resources.deployments, verifierName(name))];
  const homeless = seat.kind === 'Unseated' && seat.reason !== undefined ? [{ reason: seat.reason, message: seat.message }] : [];
  const obstacles = unknown === undefined ? homeless : [{ reason: 'ArtifactUnknown', message: unknown }];
  return { apply, remove: surplus(model, apply, children, kept), obstacles };
}
