import type { V1Deployment, V1NetworkPolicy } from '@kubernetes/client-node';
import { GatewayModels } from '@agentfleet/protocol/gateway';
import { PoolBrief } from '@agentfleet/protocol/pool';
import { Ajv } from 'ajv';
import { newPool } from '../../agenttask/testing/objects.ts';
import { decidePool } from '../decide.ts';
import type { Manifest } from '../../../operands/manifest.ts';
import type { PoolSnapshot } from '../snapshot.ts';
import { newSnapshot } from './snapshots.ts';

const ajv = new Ajv();
const validModels = ajv.compile<GatewayModels>(GatewayModels);
const validBrief = ajv.compile<PoolBrief>(PoolBrief);

/** Fields of a spec. */
export type Fields = Readonly<Record<string, unknown>>;

/** A server behind an API. */
export const api = { baseURL: 'https://llm.acme/v1', model: 'm', credential: 'llm' };
/** An expert behind it. */
export const gen = { name: 'gen', role: 'Generalist', engine: { type: 'OpenAI', api } };
/** Its key. */
export const key = { name: 'llm', secretRef: { name: 'llm', key: 'token' }, hosts: ['llm.acme'] };
/** The pool that the README shows. */
export const readme = { experts: [gen], credentials: [key] };

/** The same with other fields of the engine. */
export const behind = (endpoint: Fields): Fields => ({
  ...readme,
  experts: [{ ...gen, engine: { type: 'OpenAI', api: { ...api, ...endpoint } } }],
});
/** A recorded chat model. */
export const taped = (name: string, more: Fields = {}): Fields => ({
  name,
  role: 'Specialist',
  engine: { type: 'Replay', replay: { configMap: { name: 'chats' }, format: 'Chat' } },
  ...more,
});
/** A chat model on a GPU of the pool. */
export const core = {
  name: 'core',
  role: 'Specialist',
  engine: { type: 'VLLM', vLLM: { image: 'vllm:1', toolCallParser: 'hermes', maxModelLen: 4096, maxNumSeqs: 16 } },
  artifact: { uri: 'pvc://models/core' },
};

/** A pool of which nothing has been made yet. */
export const snapshotOf = (spec: Fields, parts: Partial<PoolSnapshot> = {}): PoolSnapshot => newSnapshot(newPool(spec), parts);

/** Kinds and names. */
export const names = (manifests: readonly Manifest[]): string[] => manifests.map(({ object }) => `${object.kind} ${object.metadata.name}`);

/** An object of a pool, as it is to be. */
export function object(snapshot: PoolSnapshot, kind: string, name: string): Manifest['object'] {
  const found = decidePool(snapshot).apply.find((one) => one.object.kind === kind && one.object.metadata.name === name);
  if (found === undefined) throw new Error(`${kind} ${name} is not made`);
  return found.object;
}

/** Spec of a Deployment. */
export function deploymentOf(snapshot: PoolSnapshot, name = 'coding-gateway'): NonNullable<V1Deployment['spec']> {
  return object(snapshot, 'Deployment', name)['spec'] as NonNullable<V1Deployment['spec']>;
}

/** Template of its pods. */
export const podOf = (snapshot: PoolSnapshot, name = 'coding-gateway') => deploymentOf(snapshot, name).template;

/** Spec of the wall of a gateway. */
export function wallOf(snapshot: PoolSnapshot, name = 'coding-gateway'): NonNullable<V1NetworkPolicy['spec']> {
  return object(snapshot, 'NetworkPolicy', name)['spec'] as NonNullable<V1NetworkPolicy['spec']>;
}

/** Returns the models that a gateway receives; they fit the schema. */
export function modelsOf(snapshot: PoolSnapshot, name = 'coding-gateway'): GatewayModels['models'] {
  const data = object(snapshot, 'ConfigMap', name)['data'] as Record<string, string>;
  const models: unknown = JSON.parse(data['models.json'] ?? '');
  if (!validModels(models)) throw new Error(JSON.stringify(validModels.errors));
  return models.models;
}

/** Returns the brief that the workers receive; it fits the schema. */
export function briefOf(snapshot: PoolSnapshot): PoolBrief {
  const data = object(snapshot, 'ConfigMap', 'coding-workers')['data'] as Record<string, string>;
  const brief: unknown = JSON.parse(data['pool.json'] ?? '');
  if (!validBrief(brief)) throw new Error(JSON.stringify(validBrief.errors));
  return brief;
}
