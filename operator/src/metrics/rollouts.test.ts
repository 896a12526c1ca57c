import { Registry } from 'prom-client';
import { expect, it } from 'vitest';
import type { Caches } from '../runtime/context.ts';
import { registerRolloutMetrics } from './rollouts.ts';

it('reports phase, weight, samples, failures and gates of the rollouts of pools and models', async () => {
  const rollout = {
    phase: 'Canary',
    weight: 10,
    samples: 42,
    failures: { bbbbbbbbbb: 1 },
    gates: [{ name: 'pass', verdict: 'Inconclusive', samples: 42 }],
  };
  const pools = [
    { metadata: { name: 'coding', namespace: 'platform' }, status: { rollout } },
    { metadata: { name: 'other', namespace: 'platform' } },
  ];
  const energyModels = { lister: { values: () => [{ metadata: { name: 'judge', namespace: 'platform' }, status: { rollout } }] } };
  const registry = new Registry();
  registerRolloutMetrics(registry, { pools: { lister: { values: () => pools } }, energyModels } as unknown as Caches);
  const text = await registry.metrics();
  expect(text).toContain('agentfleet_rollout_phase{pool="platform/coding",phase="Canary"} 1');
  expect(text).toContain('agentfleet_rollout_phase{pool="platform/coding",phase="Idle"} 0');
  expect(text).toContain('agentfleet_rollout_weight{pool="platform/coding"} 10');
  expect(text).toContain('agentfleet_rollout_samples{pool="platform/coding"} 42');
  expect(text).toContain('agentfleet_rollout_failures{pool="platform/coding",revision="bbbbbbbbbb"} 1');
  expect(text).toContain('agentfleet_rollout_gate{pool="platform/coding",gate="pass",verdict="Inconclusive"} 1');
  expect(text).toContain('agentfleet_rollout_phase{model="platform/judge",phase="Canary"} 1');
  expect(text).toContain('agentfleet_rollout_gate{model="platform/judge",gate="pass",verdict="Inconclusive"} 1');
  expect(text).not.toContain('platform/other');
});
