import { Registry } from 'prom-client';
import { expect, it } from 'vitest';
import type { Caches } from '../runtime/context.ts';
import { registerOwnerMetrics } from './owners.ts';

const fittedAt = '2030-01-01T00:00:00Z';
const conditions = [
  { type: 'Ready', status: 'False', reason: 'Progressing', message: 'wait', lastTransitionTime: fittedAt },
  { type: 'RolloutHealthy', status: 'True', reason: 'Healthy', message: '', lastTransitionTime: fittedAt },
];
const pool = {
  metadata: { name: 'coding', namespace: 'platform' },
  spec: {
    experts: [
      { name: 'gen', role: 'Generalist', replicas: 2, engine: { type: 'Llama' } },
      { name: 'remote', role: 'Generalist', replicas: 1, engine: { type: 'OpenAI', api: {} } },
      { name: 'tried', role: 'Specialist', replicas: 1, engine: { type: 'Llama' } },
      { name: 'program', role: 'Generalist', replicas: 1, engine: { type: 'Harness' } },
    ],
  },
  status: { conditions, workers: { replicas: 3 }, experts: [{ name: 'gen' }, { name: 'remote' }, { name: 'program' }] },
};
const calibration = { fittedAt, heads: [{ name: 'Code', auc: '0.91', ece: '0.021' }] };
const model = {
  metadata: { name: 'judge', namespace: 'platform' },
  spec: { resources: { replicas: 1 } },
  status: { conditions: [{ ...conditions[0], type: 'Calibrated', reason: 'Stale' }], calibration },
};
const cachesOf = (pools: readonly object[], models: readonly object[]): Caches =>
  ({ pools: { lister: { values: () => pools } }, energyModels: { lister: { values: () => models } } }) as unknown as Caches;

it('reports conditions, what is wanted and how good a calibration is', async () => {
  const registry = new Registry();
  registerOwnerMetrics(registry, cachesOf([pool], [model]), { now: () => Date.parse(fittedAt) + 90_000 });
  const page = await registry.metrics();
  for (const line of [
    'agentfleet_condition{pool="platform/coding",type="Ready",status="False",reason="Progressing"} 1',
    'agentfleet_condition{pool="platform/coding",type="RolloutHealthy",status="True",reason="Healthy"} 1',
    'agentfleet_condition{model="platform/judge",type="Calibrated",status="False",reason="Stale"} 1',
    'agentfleet_expert_wanted{pool="platform/coding",expert="gen",role="Generalist"} 2',
    'agentfleet_pool_workers_wanted{pool="platform/coding"} 3',
    'agentfleet_energymodel_wanted{model="platform/judge"} 1',
    'agentfleet_energymodel_calibration_ece{model="platform/judge",head="Code"} 0.021',
    'agentfleet_energymodel_calibration_auc{model="platform/judge",head="Code"} 0.91',
    'agentfleet_energymodel_calibration_age_seconds{model="platform/judge"} 90',
  ])
    expect(page).toContain(`${line}\n`);
  // Who has no pods cannot lack one: the alert would never end. Nor does the expert that only a revision on trial has.
  expect(page).not.toMatch(/expert="(?:remote|program|tried)"/);
});

it('has no series of what is gone, or of what was not reported yet', async () => {
  const registry = new Registry();
  const pools: object[] = [pool];
  registerOwnerMetrics(registry, cachesOf(pools, [{ ...model, status: undefined }]), { now: () => 0 });
  expect(await registry.metrics()).toContain('agentfleet_condition{pool=');
  pools.pop();
  const page = await registry.metrics();
  expect(page).not.toMatch(/^agentfleet_(condition|expert_wanted|energymodel_calibration_\w+)\{/m);
});

it.each(['Stale', 'GateFailed'])('reports nothing of a calibration that is not in force (%s)', async (abstains) => {
  const page = async (stable: object): Promise<string> => {
    const registry = new Registry();
    const arms = [stable, { calibration: { abstains: 'NotReported' } }];
    registerOwnerMetrics(registry, cachesOf([], [{ ...model, status: { ...model.status, arms } }]), { now: () => 0 });
    return registry.metrics();
  };
  const series = /^agentfleet_energymodel_calibration_\w+\{/m;
  expect(await page({ calibration: { abstains } })).not.toMatch(series);
  expect(await page({ calibration: {} })).toMatch(series);
  expect(await page({})).toMatch(series);
});
