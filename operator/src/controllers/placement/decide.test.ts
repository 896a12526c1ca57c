import { findCondition } from '@agentfleet/kube';
import type { ExpertPool } from '@agentfleet/protocol/api';
import { describe, expect, test } from 'vitest';
import { decidePlacement, type PlacementSnapshot } from './decide.ts';
import { gpuPool, onGpu, snapshot, uuids } from './testing/box.ts';
import { hybrid, judge, now, of, places, settle, conditionValue } from './testing/world.ts';

const gib = 2 ** 30;

describe('a fleet on four GPUs', () => {
  test('is placed where it asks to be, with one claim for each slot that all tenants own', () => {
    const start = snapshot({ pools: [hybrid()], models: [judge()] });
    const decision = decidePlacement(start, now);
    const plan = of(decision, 'hybrid')?.plan;
    expect(places(plan)).toEqual([
      'e-edit dgx-1/gpu1',
      'e-js dgx-1/gpu1',
      'e-py dgx-1/gpu1',
      'e-sh dgx-1/gpu1',
      'embedder dgx-1/gpu3',
      'g-gen dgx-1/gpu0',
      'hrm dgx-1/gpu3',
      'tpc dgx-1/gpu3',
    ]);
    expect(plan).toMatchObject({ mode: 'DRA' });
    expect(plan?.assignments.find(({ item }) => item === 'g-gen')).toMatchObject({ uuid: 'GPU-7a', bytes: 34 * gib });
    expect(conditionValue(decision, 'hybrid')).toMatchObject({
      status: 'True',
      reason: 'Placed',
      message: '8 engines on 3 GPUs, mode DRA',
    });
    expect(decision.claims).toHaveLength(4);
    const shared = decision.claims.find(({ metadata }) => metadata.annotations['agentfleet.dev/slot'] === 'dgx-1/gpu1');
    expect(JSON.stringify(shared?.spec)).toContain('GPU-1c');
    expect(shared?.metadata.ownerReferences.map(({ name }) => name)).toEqual(['hybrid']);
    expect(new Set(plan?.assignments.map(({ claim }) => claim)).size).toBe(3);
    expect(decision.bindings).toBe(uuids.map((uuid, n) => `dgx-1/gpu${n} ${uuid} 0000:0${n}:00.0\n`).join(''));
  });

  test('comes to rest, and another look writes nothing', () => {
    const rest = settle(snapshot({ pools: [hybrid()], models: [judge()] }));
    expect(rest.pools[0]?.status?.plan?.assignments.every(({ admitted }) => admitted)).toBe(true);
  });

  test('a pool and a model in one namespace share the claim of their slot, and it goes with the last of them', () => {
    const pool = gpuPool('small', [onGpu('gen', 'Generalist', '9Gi', 'dgx-1/gpu2')]);
    const rest = settle(snapshot({ pools: [pool], models: [judge()] }));
    expect(rest.claims).toHaveLength(1);
    expect(rest.claims[0]?.metadata.ownerReferences?.map(({ kind }) => kind)).toEqual(['EnergyModel', 'ExpertPool']);
    const alone = settle({ ...rest, pools: [] });
    expect(alone.claims[0]?.metadata.ownerReferences?.map(({ kind }) => kind)).toEqual(['EnergyModel']);
    expect(settle({ ...alone, models: [] }).claims).toEqual([]);
  });
});

describe('memory is given away once', () => {
  test('whatever pools come, in whatever order: no slot holds more than it has', () => {
    const pools = Array.from({ length: 12 }, (_, index) => gpuPool(`p${index}`, [onGpu('gen', 'Generalist', `${7 + (index % 5) * 3}Gi`)]));
    const rest = settle(snapshot({ pools }));
    const taken = new Map<string, number>();
    for (const { status } of rest.pools)
      for (const { slot, bytes } of status?.plan?.assignments ?? []) taken.set(slot, (taken.get(slot) ?? 0) + bytes);
    expect(taken.size).toBe(4);
    for (const bytes of taken.values()) expect(bytes).toBeLessThanOrEqual(39.5 * gib);
    const refused = rest.pools.filter(({ status }) => findCondition(status?.conditions, 'PlacementFeasible')?.status === 'False');
    expect(refused.length).toBeGreaterThan(0);
    expect(refused.every(({ status }) => status?.plan?.assignments.length === 0)).toBe(true);
  });

  test('after a restart the ledger is what the statuses say: who came first keeps his place', () => {
    const first = gpuPool('first', [onGpu('gen', 'Generalist', '30Gi', 'dgx-1/gpu0')]);
    const rest = settle(snapshot({ pools: [first] }));
    // An older object that asks later.
    const old = gpuPool('old', [onGpu('gen', 'Generalist', '30Gi', 'dgx-1/gpu0')]);
    const older = { ...old, metadata: { ...old.metadata, creationTimestamp: '1960-01-01T00:00:00Z' } };
    const after = settle({ ...rest, pools: [...rest.pools, older] });
    expect(places(after.pools[0]?.status?.plan)).toEqual(['gen dgx-1/gpu0']);
    expect(findCondition(after.pools[1]?.status?.conditions, 'PlacementFeasible')).toMatchObject({
      status: 'False',
      reason: 'NotEnoughMemory',
    });
  });

  test('a fifth tenant is refused with the shortage, and the four stay', () => {
    const rest = settle(snapshot({ pools: [hybrid()], models: [judge()] }));
    const fifth = gpuPool('fifth', [onGpu('gen', 'Generalist', '9Gi', 'dgx-1/gpu1')]);
    const decision = decidePlacement({ ...rest, pools: [...rest.pools, fifth] }, now);
    expect(decision.statuses.map(({ owner }) => owner.name)).toEqual(['fifth']);
    const [short] = of(decision, 'fifth')?.plan?.rejected ?? [];
    expect(short).toMatchObject({ item: 'gen', slot: 'dgx-1/gpu1', reason: 'NotEnoughMemory' });
    // 4 × 8500 MiB beside 9 GiB, and 8 % of 39.5 GiB stay free.
    expect(short?.shortByBytes).toBe(4 * 8500 * 2 ** 20 + 9 * gib - Math.floor(39.5 * gib * 0.92));
    expect(conditionValue(decision, 'fifth')?.message).toMatch(/gen: dgx-1\/gpu1 lacks \d+ bytes \([\d.]+ GiB\); give smaller budgets/);
  });
});

describe('what cannot be placed moves nothing', () => {
  const rest = settle(snapshot({ pools: [hybrid()], models: [judge()] }));
  const changed = (experts: readonly object[]): PlacementSnapshot => {
    const [pool] = rest.pools as [ExpertPool];
    return { ...rest, pools: [{ ...pool, spec: { ...pool.spec, experts: [...pool.spec.experts, ...experts] } as ExpertPool['spec'] }] };
  };
  const core = { replicas: 1, domains: ['*'], engine: { type: 'Synth' } };

  test.each([
    ['a slot that does not exist', onGpu('new', 'Specialist', '9Gi', 'dgx-1/gpu9'), 'UnknownSlot', /correct the slot/],
    ['a slot whose tenant shares with nobody', onGpu('new', 'Specialist', '1Gi', 'dgx-1/gpu0'), 'Exclusive', /shares its GPU with nobody/],
    ['more than any slot has', onGpu('new', 'Specialist', '60Gi'), 'NotEnoughMemory', /lacks \d+ bytes/],
    [
      'weights of unknown size',
      { name: 'new', role: 'Specialist', resources: { slot: 'dgx-1/gpu2' } },
      'SizeUnknown',
      /give the budget in bytes/,
    ],
  ] as const)('%s', (_, expert, reason, message) => {
    const world = changed([{ ...core, ...expert }]);
    const decision = decidePlacement(world, now);
    expect(conditionValue(decision, 'hybrid')).toMatchObject({ status: 'False', reason });
    expect(conditionValue(decision, 'hybrid')?.message).toMatch(message);
    expect(of(decision, 'hybrid')?.plan?.assignments).toEqual(rest.pools[0]?.status?.plan?.assignments);
    expect([decision.claims, decision.remove]).toEqual([[], []]);
    settle(world);
  });

  test('two engines that both share with none', () => {
    const both = { placement: { antiAffinity: [{ expert: 'gen', from: ['*'] }] } };
    const pools = ['a', 'b'].map((name) => gpuPool(name, [onGpu('gen', 'Generalist', '5Gi', 'dgx-1/gpu0')], both));
    const world = settle(snapshot({ pools }));
    expect(findCondition(world.pools[1]?.status?.conditions, 'PlacementFeasible')).toMatchObject({ status: 'False', reason: 'Exclusive' });
  });

  test('a slot that a claim of another namespace holds', () => {
    const [a, b] = ['platform', 'team'].map((namespace) => gpuPool('p', [onGpu('gen', 'Generalist', '5Gi', 'dgx-1/gpu0')], {}, namespace));
    const world = settle(snapshot({ pools: [a!, b!] }));
    expect(findCondition(world.pools[1]?.status?.conditions, 'PlacementFeasible')).toMatchObject({
      status: 'False',
      reason: 'HeldElsewhere',
    });
  });

  test('four specialists in 16 bit: nothing starts by halves', () => {
    const experts = ['e-py', 'e-js', 'e-sh', 'e-edit'].map((name) => onGpu(name, 'Specialist', '17Gi', 'dgx-1/gpu1'));
    const decision = decidePlacement(
      snapshot({ pools: [gpuPool('big', [onGpu('g', 'Generalist', '5Gi', 'dgx-1/gpu0'), ...experts])] }),
      now,
    );
    const { plan } = of(decision, 'big') ?? {};
    expect(plan?.assignments).toEqual([]);
    const short = plan?.rejected?.filter(({ reason }) => reason === 'NotEnoughMemory') ?? [];
    expect(short.map(({ slot }) => slot)).toEqual(['dgx-1/gpu1', 'dgx-1/gpu1']);
    expect(short.every(({ shortByBytes = 0 }) => shortByBytes > 14 * gib)).toBe(true);
  });
});

describe('an engine that needs more than was reckoned', () => {
  const architecture = { layers: 28, kvHeads: 4, headSize: 128, hiddenSize: 3584, feedForwardSize: 18_944, vocabulary: 152_064 };
  const kv = 60_000 * 2 * 28 * 4 * 128 * 2;
  /** It was given room for 60,000 tokens, and holds half of them in that. */
  const measured = {
    name: 'gen',
    role: 'Generalist',
    phase: 'Ready',
    replicas: 1,
    ready: 1,
    memory: { estimated: kv / 2, measured: kv },
  };
  const gen = {
    name: 'gen',
    role: 'Generalist',
    engine: { type: 'VLLM', vLLM: { image: 'vllm:1', maxModelLen: 8192, maxNumSeqs: 16 } },
    resources: { slot: 'dgx-1/gpu0', memory: { budget: 'Auto', kvTokens: 60_000 } },
  };
  const world = (reported: boolean, others: readonly ExpertPool[] = []): PlacementSnapshot => {
    const pool = gpuPool('p', [gen]);
    const artifacts = [{ name: 'gen', uri: 'pvc://m', phase: 'Ready', weightBytes: 15_231_233_024, architecture }];
    const start = { ...pool, status: { ...pool.status, artifacts } } as unknown as ExpertPool;
    const rest = settle(snapshot({ pools: [start, ...others] }));
    const [first, ...more] = rest.pools as [ExpertPool];
    const now = { ...first, status: { ...first.status, ...(reported ? { experts: [measured] } : {}) } } as unknown as ExpertPool;
    return settle({ ...rest, pools: [now, ...more] });
  };
  const bytesIn = ({ pools }: PlacementSnapshot): number => pools[0]?.status?.plan?.assignments[0]?.bytes ?? 0;

  test('has that kept free beside it, and newcomers are refused', () => {
    const [before, after] = [world(false), world(true)];
    expect(bytesIn(after) - bytesIn(before)).toBe(kv);
    expect(after.pools[0]?.status?.plan?.assignments[0]).toMatchObject({ slot: 'dgx-1/gpu0', admitted: true });
    const room = Math.floor(39.5 * gib * 0.92) - bytesIn(before);
    const late = gpuPool('q', [onGpu('gen', 'Generalist', `${Math.floor(room / 2 ** 20)}Mi`, 'dgx-1/gpu0')]);
    const of = (rest: PlacementSnapshot): number =>
      settle({ ...rest, pools: [...rest.pools, late] }).pools[1]?.status?.plan?.assignments.length ?? 0;
    expect([of(before), of(after)]).toEqual([1, 0]);
  });

  test('evicts no engine that is there already, and keeps its own place', () => {
    const room = Math.floor(39.5 * gib * 0.92) - bytesIn(world(false));
    const there = gpuPool('q', [onGpu('gen', 'Generalist', `${Math.floor(room / 2 ** 20)}Mi`, 'dgx-1/gpu0')]);
    const after = world(true, [there]);
    expect(bytesIn(after)).toBe(bytesIn(world(false)));
    expect(after.pools.map(({ status }) => status?.plan?.assignments.length)).toEqual([1, 1]);
    expect(findCondition(after.pools[0]?.status?.conditions, 'PlacementFeasible')).toMatchObject({ status: 'True' });
  });
});
