import { describe, it } from 'vitest';
import { createTransport, defineResource, kubeconfigConfig, ResourceClient, type KubeObject } from '@agentfleet/kube';
import { kubeconfigPath } from '../../../hack/cluster/index.ts';
import { namespaces, widgets, type Environment } from './environment.ts';
import { contractSuite } from './suite.ts';

/** Set by the stage that has brought a cluster up. */
const enabled = process.env['AGENTFLEET_CONTRACT_REAL'] === '1';

interface Definition extends KubeObject {
  readonly status?: { readonly conditions?: readonly { readonly type: string; readonly status: string }[] };
}

const definitions = defineResource<Definition>({
  group: 'apiextensions.k8s.io',
  version: 'v1',
  plural: 'customresourcedefinitions',
  kind: 'CustomResourceDefinition',
  namespaced: false,
});

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

async function open(): Promise<Environment> {
  const transport = createTransport(await kubeconfigConfig({ file: await kubeconfigPath() }), { userAgent: 'contract/1' });
  const client = new ResourceClient(transport, definitions);
  const metadata = { name: `${widgets.plural}.${widgets.group}` };
  const names = { plural: widgets.plural, singular: 'widget', kind: widgets.kind };
  const version = {
    name: 'v1',
    served: true,
    storage: true,
    subresources: { status: {} },
    selectableFields: [{ jsonPath: '.spec.owner' }],
    schema: { openAPIV3Schema: schema },
  };
  await client.apply(
    { metadata, spec: { group: widgets.group, scope: 'Namespaced', names, versions: [version] } },
    { fieldManager: 'contract' },
  );
  for (let i = 0; i < 100; i += 1) {
    const ready = (await client.get(metadata)).status?.conditions?.some(({ type, status }) => type === 'Established' && status === 'True');
    const served = ready === true && (await new ResourceClient(transport, widgets).list({ limit: 1 }).catch(() => undefined)) !== undefined;
    if (served) break;
    await new Promise((resolve) => setTimeout(resolve, 200));
  }
  const spaces = new ResourceClient(transport, namespaces);
  const made = await spaces.create({ metadata: { generateName: 'contract-' } });
  return {
    transport,
    namespace: made.metadata.name,
    close: async () => {
      await spaces.delete({ name: made.metadata.name });
      await client.delete(metadata);
      await transport.close();
    },
  };
}

if (enabled) contractSuite('a real API server', open);
else describe.skip('a real API server', () => it('runs with AGENTFLEET_CONTRACT_REAL=1', () => {}));
