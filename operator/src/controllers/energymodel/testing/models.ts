import { ajvOptions, validators, type EnergyModel } from '@agentfleet/protocol/api';
import { Ajv } from 'ajv';
import { resources } from '../../../runtime/resources.ts';
import type { ModelSnapshot } from '../snapshot.ts';
import { testAccess } from '../../../serving/testing/access.ts';

const ajv = new Ajv(ajvOptions);
const { EnergyModel: valid } = validators(ajv);

/** A model in the namespace platform with the defaults of the API server. */
export function newModel(spec: Readonly<Record<string, unknown>> = {}, name = 'judge'): EnergyModel {
  const { apiVersion, kind } = resources.energyModels;
  const artifact = { uri: 'builtin://features-v1' };
  const object: unknown = { apiVersion, kind, metadata: { name, namespace: 'platform' }, spec: { artifact, ...spec } };
  if (!valid(object)) throw new Error(ajv.errorsText(valid.errors));
  return object as EnergyModel;
}

/** A snapshot of a model of which nothing has been made yet. */
export function newModelSnapshot(spec: Readonly<Record<string, unknown>> = {}, parts: Partial<ModelSnapshot> = {}): ModelSnapshot {
  const model = newModel(spec);
  return {
    model: { ...model, metadata: { ...model.metadata, uid: 'uid-model', generation: 2 } },
    image: 'inference:1',
    operatorNamespace: 'agentfleet-system',
    access: testAccess,
    children: [],
    deployment: undefined,
    pods: [],
    notes: new Map(),
    info: undefined,
    ...parts,
  };
}
