import { isAlreadyExists, ResourceClient, type Transport } from '@agentfleet/kube';
import { ajvOptions, validators, type RolloutPolicy } from '@agentfleet/protocol/api';
import { Ajv } from 'ajv';
import { resources } from '../../runtime/resources.ts';

const ajv = new Ajv(ajvOptions);
const { RolloutPolicy: valid } = validators(ajv);

/** A policy with the defaults of the API server. */
export function newPolicy(spec: object, name: string, namespace = 'platform'): RolloutPolicy {
  const { apiVersion, kind } = resources.rolloutPolicies;
  const object: unknown = { apiVersion, kind, metadata: { name, namespace }, spec: structuredClone(spec) };
  if (!valid(object)) throw new Error(ajv.errorsText(valid.errors));
  return object as RolloutPolicy;
}

type Fields = Readonly<Record<string, unknown>>;

/** A spec with its `rollout` in a RolloutPolicy of the server, which the spec names; the policy is named as its owner. */
export async function ruled(transport: Transport, owner: string, { rollout, ...spec }: Fields, namespace = 'platform'): Promise<Fields> {
  if (rollout === undefined) return spec;
  if (rollout === null) return { ...spec, rolloutPolicyRef: null };
  const policies = new ResourceClient<RolloutPolicy>(transport, resources.rolloutPolicies);
  const policy = newPolicy(rollout, owner, namespace);
  await policies.create(policy).catch(async (error: unknown) => {
    if (!isAlreadyExists(error)) throw error;
    await policies.patch(policy.metadata, { spec: { gates: null, shadow: null, ...policy.spec } });
  });
  return { ...spec, rolloutPolicyRef: { name: owner } };
}
