import type { EnergyModel, RolloutStatus } from '@agentfleet/protocol/api';
import { expect, test } from 'vitest';
import type { PlacementSnapshot } from './decide.ts';
import { gpuModel, gpuPool, onGpu, snapshot } from './testing/box.ts';
import { places, settle } from './testing/world.ts';

function judge(budget: string, more: object = {}): EnergyModel {
  const model = gpuModel('judge', { memory: { budget }, ...more });
  return { ...model, spec: { ...model.spec, rolloutPolicyRef: { name: 'careful' } } };
}

const reported = (status: Partial<RolloutStatus>): object => ({
  rollout: {
    phase: 'Idle',
    weight: 0,
    step: 0,
    since: '2030-01-01T00:00:00Z',
    samplesBefore: 0,
    samples: 0,
    reason: '',
    message: '',
    ...status,
  },
});

const withStatus = (world: PlacementSnapshot, status: Partial<RolloutStatus>): PlacementSnapshot => ({
  ...world,
  models: world.models.map((model): EnergyModel => ({ ...model, status: { ...model.status, ...reported(status) } })),
});
const plans = (world: PlacementSnapshot): readonly string[] => places(world.models[0]?.status?.plan);

test('a revision of a model that is tried has a place beside the one that serves, and keeps it when it is promoted', () => {
  const [a, b] = ['aaaaaaaaaa', 'bbbbbbbbbb'];
  const first = settle(withStatus(snapshot({ models: [judge('4Gi')] }), { canary: a }));
  const [place = ''] = plans(first);
  expect(plans(first)).toEqual([expect.stringMatching(/^judge\.aaaaaaaaaa dgx-1\/gpu\d$/)]);
  expect(plans(settle(withStatus(first, { stable: a })))).toEqual([place]);
  const tried = settle(withStatus(first, { phase: 'Loading', stable: a, canary: b, id: `${b}-1` }));
  const canary = plans(tried).find((conditionValue) => conditionValue.startsWith(`judge.${b} `)) ?? '';
  expect(plans(tried).toSorted()).toEqual([place, canary].toSorted());
  expect(plans(settle(withStatus(tried, { stable: b })))).toEqual([canary]);
  expect(plans(settle(withStatus(tried, { stable: a })))).toEqual([place]);
});

test('a revision of a model that finds no room moves no engine, and what it lacks is reported', () => {
  const [a, b] = ['aaaaaaaaaa', 'bbbbbbbbbb'];
  const full = ['gpu1', 'gpu2', 'gpu3'].map((gpu) => onGpu(gpu, 'Specialist', '35Gi', `dgx-1/${gpu}`));
  const world = settle(
    withStatus(snapshot({ pools: [gpuPool('p', full)], models: [judge('30Gi', { slot: 'dgx-1/gpu0' })] }), { stable: a }),
  );
  const tried = settle(withStatus(world, { phase: 'Loading', stable: a, canary: b, id: `${b}-1` }));
  expect(plans(tried)).toEqual(plans(world));
  expect(tried.models[0]?.status?.plan?.rejected).toMatchObject(
    Array.from({ length: 4 }, () => ({ item: `judge.${b}`, shortByBytes: expect.any(Number) as number })),
  );
});
