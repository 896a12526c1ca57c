import { labels } from '@agentfleet/protocol/pool';
import { expect, it } from 'vitest';
import { Registry } from 'prom-client';
import { expertsReady, registerFleetMetrics, type FleetMetricsOptions } from './fleet.ts';

const status = (ready: boolean): object => ({ conditions: [{ type: 'Ready', status: ready ? 'True' : 'False' }] });

it('counts the pods of each expert that answer tasks, and none of a revision on trial', () => {
  const experts = ['gen', 'js', 'new'].map((name) => ({ name, role: 'Specialist', engine: { type: 'Llama' } }));
  const pods = ['gen', 'js', 'new'].map((name) => ({
    metadata: { name, labels: { [labels.component]: 'expert', [labels.expert]: name, [labels.revision]: 'r2' } },
    status: status(true),
  }));
  const states = [
    { name: 'gen', ready: 1 },
    { name: 'js', ready: 0 },
  ];
  const pool = { metadata: { name: 'coding', namespace: 'platform' }, spec: { experts }, status: { experts: states } };
  const ready = (pools: readonly object[]): unknown => {
    const caches = { pools: { lister: { values: () => pools } }, pods: { lister: { byIndex: () => pods } } };
    return expertsReady(caches as unknown as FleetMetricsOptions['caches']).map(({ labels: { pool, expert }, value }) => [
      pool,
      expert,
      value,
    ]);
  };
  expect(ready([pool])).toEqual([
    ['platform/coding', 'gen', 1],
    ['platform/coding', 'js', 0],
  ]);
  expect(ready([{ ...pool, status: undefined }])).toEqual(experts.map(({ name }) => ['platform/coding', name, 0]));
});

it.each([
  ['a golden set', 'golden', 0],
  ['a canary', 'verifier', 0],
  ['a canary', 'verifier', 2],
])('beside %s (%s) counts the %i pods of a model that serve', async (_beside, component, ready) => {
  const nothing = { lister: { values: () => [], byIndex: () => [] } };
  const model = { metadata: { name: 'judge', namespace: 'platform' }, spec: {}, status: { ready } };
  const labelsOf = { [labels.component]: component, [labels.model]: 'judge', [labels.revision]: 'r2' };
  const pods = [{ metadata: { name: 'p', namespace: 'platform', labels: labelsOf }, status: status(true) }];
  const caches = {
    pools: nothing,
    poolGrants: nothing,
    namespaces: nothing,
    census: { groups: () => [] },
    pods: { lister: { byIndex: () => pods } },
    energyModels: { lister: { values: () => [model] } },
  };
  const registry = new Registry();
  registerFleetMetrics({ registry, caches, reach: {}, heartbeats: {} } as unknown as FleetMetricsOptions);
  expect(await registry.getSingleMetricAsString('agentfleet_energymodel_ready')).toContain(`{model="platform/judge"} ${ready}`);
});
