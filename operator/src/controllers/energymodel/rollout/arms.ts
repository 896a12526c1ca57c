import { isControlledBy } from '@agentfleet/kube';
import { defaultLambda, type EnergyModel } from '@agentfleet/protocol/api';
import { energyHeads } from '@agentfleet/protocol/inference';
import { revisionRecordName } from '../../../pools/names.ts';
import { revisionOf } from '../../../revisions/index.ts';
import type { ControllerRevision } from '../../../runtime/objects.ts';
import { resources } from '../../../runtime/resources.ts';
import { ownedBy, type Manifest } from '../../expertpool/manifests/manifest.ts';
import type { ModelArm, RecordedModel, ServedModel } from '../snapshot.ts';

/** What of a spec is served; thresholds, demands and the number of pods are policy, which holds for all revisions at once. Pure. */
export function servedOf({ artifact, lambda, heads, resources }: EnergyModel['spec']): ServedModel {
  const own = new Map((heads ?? []).map((head) => [head.name, head.lambda]));
  return {
    artifact,
    lambda,
    // Written out, so that a revision stays what it was when defaults change.
    heads: energyHeads.map((name) => ({ name, lambda: own.get(name) ?? defaultLambda[name] })),
    ...(resources.container === undefined ? {} : { container: resources.container }),
  };
}

/** Name of the revision that serves this; another order in the spec is no other one. Pure. */
export function modelRevision(uid: string, served: ServedModel, image: string): string {
  return revisionOf(uid, { served, image });
}

/** The model as one of its revisions has it, under the policy of now. Pure. */
export function asArm(model: EnergyModel, { served }: Pick<ModelArm, 'served'>): EnergyModel {
  const { artifact, lambda, heads, container } = served;
  const { container: _, ...wanted } = model.spec.resources;
  const resources = { ...wanted, ...(container === undefined ? {} : { container }) };
  return { ...model, spec: { ...model.spec, artifact, lambda, heads: [...heads], resources } };
}

/** Revisions that a model has on record. Pure. */
export function recordedModels(model: EnergyModel, records: readonly ControllerRevision[]): ReadonlyMap<string, RecordedModel> {
  const own = records.filter((record) => isControlledBy(record, model));
  const arms = own.flatMap(({ data, revision: number = 0 }): readonly RecordedModel[] => {
    const { revision, served, image } = (data ?? {}) as Partial<ModelArm>;
    return revision === undefined || served === undefined || image === undefined ? [] : [{ revision, served, image, number }];
  });
  return new Map(arms.map((arm) => [arm.revision, arm]));
}

/** The record of a revision. Pure. */
export function modelRecord(model: EnergyModel, labels: Readonly<Record<string, string>>, record: RecordedModel): Manifest {
  const { revision, served, image, number } = record;
  const name = revisionRecordName(model.metadata.name, 'model', revision);
  return ownedBy(model, resources.controllerRevisions, { name, labels }, { revision: number, data: { revision, served, image } });
}
