import { describe, it } from 'vitest';
import { createTransport, defineResource, kubeconfigConfig, ResourceClient, type KubeObject, type Transport } from '@agentfleet/kube';
import { kubeconfigPath } from '../../../hack/cluster/index.ts';
import { startAssets } from './assets.ts';
import { namespaces, widgets, type Environment } from './environment.ts';
import { contractSuite } from './suite.ts';

/** Set by the stage that has brought a cluster up. */
const enabled = process.env['AGENTFLEET_CONTRACT_REAL'] === '1';

interface Definition extends KubeObject {
  readonly status?: { readonly conditions?: readonly { readonly type: string; readonly status: string }[] };
}

const definitions = defineResource<Definition>('apiextensions.k8s.io/v1', 'CustomResourceDefinition', 'customresourcedefinitions', false);

const part = { type: 'object', required: ['name'], properties: { name: { type: 'string' }, count: { type: 'integer' } } };
const condition = {
  type: 'object',
  required: ['type', 'status'],
  properties: Object.fromEntries(['type', 'status', 'reason', 'message', 'lastTransitionTime'].map((field) => [field, { type: 'string' }])),
};
const listMap = (items: object, key: string): object => ({
  type: 'array',
  items,
  'x-kubernetes-list-type': 'map',
  'x-kubernetes-list-map-keys': [key],
});
const schema = {
  type: 'object',
  properties: {
    spec: { type: 'object', properties: { size: { type: 'integer' }, owner: { type: 'string' }, parts: listMap(part, 'name') } },
    status: { type: 'object', properties: { phase: { type: 'string' }, conditions: listMap(condition, 'type') } },
  },
};

const metadata = { name: `${widgets.plural}.${widgets.group}` };

async function until(what: string, holds: () => Promise<boolean>): Promise<void> {
  for (let i = 0; i < 300; i += 1) {
    if (await holds()) return;
    await new Promise((resolve) => setTimeout(resolve, 200));
  }
  throw new Error(`never: ${what}`);
}

async function define(transport: Transport): Promise<void> {
  const client = new ResourceClient(transport, definitions);
  const names = { plural: widgets.plural, singular: 'widget', kind: widgets.kind };
  const version = {
    name: 'v1',
    served: true,
    storage: true,
    subresources: { status: {} },
    selectableFields: [{ jsonPath: '.spec.owner' }],
    schema: { openAPIV3Schema: schema },
  };
  const spec = { group: widgets.group, scope: 'Namespaced', names, versions: [version] };
  await client.apply({ metadata, spec }, { fieldManager: 'contract' });
  const established = async (): Promise<boolean> =>
    (await client.get(metadata)).status?.conditions?.some(({ type, status }) => type === 'Established' && status === 'True') === true;
  const served = (): Promise<boolean> =>
    new ResourceClient(transport, widgets).list({ limit: 1 }).then(
      () => true,
      () => false,
    );
  await until('a definition that is served', async () => (await established()) && (await served()));
}

async function withdraw(transport: Transport): Promise<void> {
  const client = new ResourceClient(transport, definitions);
  await client.delete(metadata);
  await until('the end of the definition', async () => (await client.find(metadata)) === undefined);
}

async function open(): Promise<Environment> {
  const assets = process.env['KUBEBUILDER_ASSETS'];
  const own = assets ? await startAssets(assets) : undefined;
  const config = own?.config ?? (await kubeconfigConfig({ file: await kubeconfigPath() }));
  const transport = createTransport(config, { userAgent: 'contract/1' });
  await define(transport);
  const spaces = new ResourceClient(transport, namespaces);
  const made = await spaces.create({ metadata: { generateName: 'contract-' } });
  return {
    transport,
    namespace: made.metadata.name,
    controllers: own === undefined,
    define: () => define(transport),
    withdraw: () => withdraw(transport),
    close: async () => {
      await spaces.delete({ name: made.metadata.name });
      await new ResourceClient(transport, definitions).delete(metadata);
      await transport.close();
      await own?.stop();
    },
  };
}

if (enabled) contractSuite('a real API server', open);
else describe.skip('a real API server', () => it('runs with AGENTFLEET_CONTRACT_REAL=1', () => {}));
