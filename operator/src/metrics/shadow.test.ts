import { Registry } from 'prom-client';
import { expect, it } from 'vitest';
import type { Caches } from '../runtime/context.ts';
import { registerShadowMetrics } from './rollouts.ts';

const id = 'bbbbbbbbbb-1';
const acts = { both: 1, onlyFirst: 2, onlySecond: 3, neither: 4 };
const shadow = { tasks: 1, acts, copies: { answered: 7, failed: 2, dropped: 1, candidates: 5, sameCandidates: 3 } };
const book = (rollout: string) => ({ data: { 'counts.json': JSON.stringify({ rollout, arms: {}, shadow }) } });
const owner = (name: string) => ({ metadata: { name, namespace: 'ns' }, status: { rollout: { id } } });
const lister = (objects: readonly object[]) => ({ lister: { values: () => objects } });

async function metrics(rollout: string): Promise<string> {
  const registry = new Registry();
  const books = new Map([
    ['ns/coding-pool-rollout', book(rollout)],
    ['ns/judge-model-rollout', book(rollout)],
  ]);
  const configMaps = { lister: { get: (key: string) => books.get(key) } };
  const caches = { pools: lister([owner('coding'), { metadata: { name: 'x' } }]), energyModels: lister([owner('judge')]), configMaps };
  registerShadowMetrics(registry, caches as unknown as Pick<Caches, 'pools' | 'energyModels' | 'configMaps'>);
  return registry.metrics();
}

it('reports what the books of rollouts hold of a shadow, and nothing of rollouts before', async () => {
  const text = await metrics(id);
  expect(text).toContain('agentfleet_energymodel_shadow_disagreements_total{model="ns/judge",direction="OnlyStableVetoed"} 2');
  expect(text).toContain('agentfleet_energymodel_shadow_disagreements_total{model="ns/judge",direction="OnlyShadowVetoed"} 3');
  expect(text).toContain('agentfleet_expertpool_shadow_disagreements_total{pool="ns/coding"} 2');
  expect(text).toContain('agentfleet_shadow_copies{kind="EnergyModel",owner="ns/judge",result="dropped"} 1');
  expect(await metrics('bbbbbbbbbb-0')).toContain('agentfleet_expertpool_shadow_disagreements_total{pool="ns/coding"} 0');
});
