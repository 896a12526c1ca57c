import { readFile } from 'node:fs/promises';
import { fileURLToPath } from 'node:url';
import { labels } from '@agentfleet/protocol/pool';
import { expect, it } from 'vitest';
import { decideModel } from '../../energymodel/decide.ts';
import { newModelSnapshot } from '../../energymodel/testing/models.ts';
import { poolWalls } from '../../expertpool/manifests/walls.ts';
import { gpuPool, onGpu } from '../testing/box.ts';
import { holderPod } from './holders.ts';
import { probePod } from './probe.ts';

interface Wall {
  readonly metadata: { readonly name: string; readonly ownerReferences?: readonly object[] };
  readonly spec: { readonly podSelector: { readonly matchLabels: Readonly<Record<string, string>> } };
}

const pool = gpuPool('coding', [onGpu('gen', 'Generalist', '5Gi')], { policy: {} });
const plan = { hash: '', mode: 'Reservation', assignments: [] };
const held = { ...pool, status: { ...pool.status, plan } } as typeof pool;
const component = (pod: { readonly metadata: { readonly labels?: Readonly<Record<string, string>> } }): object => ({
  [labels.component]: pod.metadata.labels?.[labels.component],
});
const closed = (pods: object): object => ({ podSelector: { matchLabels: pods }, policyTypes: ['Ingress', 'Egress'] });
const holder = component(holderPod({ slot: 'dgx-1/gpu0', namespace: 'platform', ownerReferences: [] }, 'inference:1'));

it('closes the pods that hold GPUs for a pool while it has them, and goes with it', () => {
  expect(poolWalls(pool, 'agentfleet-system')).toHaveLength(2);
  const wall = poolWalls(held, 'agentfleet-system').at(-1)?.object as unknown as Wall;
  expect(wall.spec).toEqual(closed(holder));
  expect(wall.metadata).toMatchObject({ name: 'coding-holders', namespace: 'platform' });
  expect(wall.metadata.ownerReferences).toHaveLength(1);
});

it('closes those of a model too', () => {
  const snapshot = newModelSnapshot();
  const names = (model: typeof snapshot.model): readonly string[] =>
    decideModel({ ...snapshot, model }).apply.flatMap(({ object }) => (object.kind === 'NetworkPolicy' ? [object.metadata.name] : []));
  expect(names(snapshot.model)).toEqual(['judge-verifier']);
  const model = { ...snapshot.model, status: { plan } } as unknown as typeof snapshot.model;
  expect(names(model)).toEqual(['judge-verifier', 'judge-verifier-holders']);
  expect(decideModel({ ...snapshot, model }).apply[1]?.object['spec']).toEqual(closed(holder));
});

it('closes the pod that asks a node for GPUs, by the chart', async () => {
  const owner = { apiVersion: 'v1', kind: 'ConfigMap', name: 'agentfleet-slots', uid: 'u' };
  const [[label, value]] = Object.entries(
    component(probePod({ metadata: { name: 'dgx-1' } }, 'agentfleet-system', 'inference:1', owner)),
  ) as [[string, string]];
  const chart = fileURLToPath(new URL('../../../../../charts/agentfleet/templates/networkpolicy.yaml', import.meta.url));
  const text = await readFile(chart, 'utf8');
  const [, rest = ''] = text.split(`matchLabels: { ${label}: ${value} }\n`);
  expect(rest).toMatch(/^ *policyTypes: \[Ingress, Egress\]\n(---|\{\{|$)/);
});
