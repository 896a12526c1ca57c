import type { ExpertPool, PlanStatus } from '@agentfleet/protocol/api';
import { describe, expect, test } from 'vitest';
import { decidePlacement, type PlacementSnapshot } from './decide.ts';
import { box, device, gpuPool, onGpu, snapshot } from './testing/box.ts';
import { hashIn, inRollout, planIn, revisionOfPool, withPool } from './testing/revisions.ts';
import { now, settle, word } from './testing/world.ts';

const gib = 2 ** 30;

type Experts = readonly Readonly<Record<string, unknown>>[];

/** An engine that takes turns. */
const swap = (name: string, budget: string, slot?: string, role = 'Specialist'): Readonly<Record<string, unknown>> => ({
  ...onGpu(name, role, budget, slot),
  residency: 'Swap',
});

const four: Experts = [
  swap('gen', '17Gi', 'dgx-1/gpu0', 'Generalist'),
  swap('go', '16Gi', 'dgx-1/gpu0'),
  swap('js', '16Gi', 'dgx-1/gpu0'),
  swap('py', '15Gi', 'dgx-1/gpu0'),
];

const shares = ({ assignments }: PlanStatus): Readonly<Record<string, readonly [number, number | undefined]>> =>
  Object.fromEntries(
    assignments.map(({ item, bytes, awakeBytes }) => [item, [bytes / gib, awakeBytes === undefined ? undefined : awakeBytes / gib]]),
  );

const short = ({ shortByBytes }: { readonly shortByBytes?: number }): boolean => shortByBytes !== undefined;

const only = (experts: Experts, parts: Partial<PlacementSnapshot> = {}): PlacementSnapshot =>
  settle(snapshot({ pools: [gpuPool('p', experts)], ...parts }));

/** The pool with other experts; pods of those that are gone are there as `present` says. */
function changed(world: PlacementSnapshot, experts: Experts, present: PlacementSnapshot['present'] = () => false): PlacementSnapshot {
  const pools = world.pools.map((pool) => ({ ...pool, spec: { ...pool.spec, experts: gpuPool('p', experts).spec.experts } }));
  return settle({ ...world, pools, present });
}

describe('engines that take turns', () => {
  test('have the room of the biggest, and a sleeper for each other one', () => {
    const plan = planIn(only(four), 'p');
    expect(shares(plan)).toEqual({ gen: [17, 17], go: [1.5, 16], js: [1.5, 16], py: [1.5, 15] });
    expect(new Set(plan.assignments.map(({ claim }) => claim)).size).toBe(1);
    expect(plan.assignments.every(({ admitted }) => admitted)).toBe(true);
  });

  test('fit where those that always stay are refused with the bytes', () => {
    const always = four.map((expert) => ({ ...expert, residency: 'Always' }));
    const decision = decidePlacement(snapshot({ pools: [gpuPool('p', always)] }), now);
    expect(word(decision, 'p')).toMatchObject({ status: 'False', reason: 'NotEnoughMemory' });
    const world = only(always);
    expect(planIn(world, 'p').assignments).toEqual([]);
  });

  test('are all on one slot when they name none, and on those that they name', () => {
    const free = only([swap('gen', '17Gi', undefined, 'Generalist'), swap('go', '16Gi'), swap('js', '16Gi')]);
    expect(new Set(planIn(free, 'p').assignments.map(({ slot }) => slot)).size).toBe(1);
    const apart = only([
      swap('gen', '17Gi', 'dgx-1/gpu1', 'Generalist'),
      swap('go', '16Gi', 'dgx-1/gpu2'),
      swap('js', '9Gi', 'dgx-1/gpu2'),
    ]);
    expect(shares(planIn(apart, 'p'))).toEqual({ gen: [17, 17], go: [16, 16], js: [1.5, 9] });
  });

  test('share no turns where the user keeps them apart', () => {
    const rules = { placement: { antiAffinity: [{ expert: 'go', from: ['js'] }] } };
    const experts = [swap('gen', '17Gi', undefined, 'Generalist'), swap('go', '16Gi'), swap('js', '16Gi')];
    const plan = planIn(settle(snapshot({ pools: [gpuPool('p', experts, rules)] })), 'p');
    const at = new Map(plan.assignments.map(({ item, slot }) => [item, slot]));
    expect(at.get('go')).not.toBe(at.get('js'));
    expect(at.get('go')).toBe(at.get('gen'));
    expect(shares(plan)).toEqual({ gen: [17, 17], go: [1.5, 16], js: [16, 16] });
  });

  test('are refused together when the room is too small, with what all of them lack', () => {
    const tenant = gpuPool('a', [onGpu('gen', 'Generalist', '20Gi', 'dgx-1/gpu0')]);
    const world = settle(snapshot({ pools: [tenant, gpuPool('p', four)] }));
    const { assignments, rejected } = planIn(world, 'p');
    expect(assignments).toEqual([]);
    const room = 20 * gib + 21.5 * gib - Math.floor(39.5 * gib * 0.92);
    expect(rejected?.filter(short)).toEqual([{ item: 'gen', slot: 'dgx-1/gpu0', reason: 'NotEnoughMemory', shortByBytes: room }]);
  });

  test('have no mode that gives a pod the whole GPU', () => {
    const nodes = [
      { metadata: { name: 'dgx-1', labels: { 'nvidia.com/gpu.memory': '40960' } }, status: { allocatable: { 'nvidia.com/gpu': '4' } } },
    ];
    const cluster = box([], { nodes, resourceApi: false, slices: [], runtimeClass: true });
    const pool = gpuPool('p', [swap('gen', '17Gi', undefined, 'Generalist')], { placement: { mode: 'WholeGPU' } });
    const decision = decidePlacement(snapshot({ pools: [pool], cluster }), now);
    const told = word(decision, 'p');
    expect(told).toMatchObject({ status: 'False', reason: 'NoMode' });
    expect(told?.message).toBe(
      'gen has residency Swap: engines that take turns share a GPU, which pods with a whole GPU each cannot; write Always',
    );
  });
});

describe('who comes and goes', () => {
  test('a newcomer changes nobody else, even a bigger one', () => {
    const before = only(four);
    const small = changed(before, [...four, swap('rs', '9Gi', 'dgx-1/gpu0')]);
    expect(shares(planIn(small, 'p'))).toMatchObject({ gen: [17, 17], go: [1.5, 16], rs: [1.5, 9] });
    const big = changed(before, [...four, swap('rs', '20Gi', 'dgx-1/gpu0')]);
    expect(shares(planIn(big, 'p'))).toEqual({ gen: [17, 17], go: [1.5, 16], js: [1.5, 16], py: [1.5, 15], rs: [4.5, 20] });
    expect(shares(planIn(changed(big, [...four, swap('rs', '20Gi', 'dgx-1/gpu0')]), 'p'))).toEqual(shares(planIn(big, 'p')));
  });

  test('one that does not fit beside the others moves nobody, and is refused with what it would add', () => {
    const before = only(four);
    const after = changed(before, [...four, swap('rs', '38Gi', 'dgx-1/gpu0')]);
    expect(planIn(after, 'p').assignments).toEqual(planIn(before, 'p').assignments);
    const room = (4 * 1.5 + 38) * gib - Math.floor(39.5 * gib * 0.97);
    expect(planIn(after, 'p').rejected?.filter(short)).toEqual([
      { item: 'rs', slot: 'dgx-1/gpu0', reason: 'NotEnoughMemory', shortByBytes: room },
    ]);
  });

  test('the biggest keeps its memory until its pods are gone, and then the next one has it', () => {
    const rest = four.slice(1).map((expert, index) => (index === 0 ? { ...expert, role: 'Generalist' } : expert));
    const leaving = changed(only(four), rest, () => true);
    expect(shares(planIn(leaving, 'p'))).toEqual({ gen: [17, 17], go: [1.5, 16], js: [1.5, 16], py: [1.5, 15] });
    const gone = changed(leaving, rest, () => false);
    expect(shares(planIn(gone, 'p'))).toEqual({ go: [16, 16], js: [1.5, 16], py: [1.5, 15] });
  });

  test('a newcomer waits for a bigger one that leaves, where there is no room for the other to be awake', () => {
    const tenant = gpuPool('a', [onGpu('gen', 'Generalist', '15Gi', 'dgx-1/gpu0')]);
    const old = settle(snapshot({ pools: [gpuPool('p', [swap('gen', '16Gi', 'dgx-1/gpu0', 'Generalist')]), tenant] }));
    const next = gpuPool('p', [swap('go', '20Gi', 'dgx-1/gpu0', 'Generalist')]).spec.experts;
    const pools = old.pools.map((pool) => (pool.metadata.name === 'p' ? { ...pool, spec: { ...pool.spec, experts: next } } : pool));
    const waits = settle({ ...old, pools, present: () => true });
    expect(shares(planIn(waits, 'p'))).toEqual({ gen: [16, 16] });
    expect(shares(planIn(settle({ ...waits, present: () => false }), 'p'))).toEqual({ go: [20, 20] });
  });

  test('those that name no slot stay beside what leaves, as they have their room together', () => {
    const tenants = gpuPool('a', [onGpu('gen', 'Generalist', '12Gi', 'dgx-1/gpu0'), onGpu('x', 'Specialist', '12Gi', 'dgx-1/gpu1')]);
    const cluster = box([0, 1].map((index) => device(index)));
    const experts = (budget: string, more: Experts): ExpertPool => gpuPool('p', [swap('gen', budget, undefined, 'Generalist'), ...more]);
    const old = settle(snapshot({ pools: [tenants, experts('10Gi', [swap('go', '10Gi')])], cluster }));
    const [tenant, pool] = old.pools as [ExpertPool, ExpertPool];
    const grown = { ...pool, spec: { ...pool.spec, experts: experts('30Gi', []).spec.experts } };
    const after = settle({ ...old, pools: [tenant, grown], present: () => true });
    expect(planIn(after, 'p').assignments).toEqual(planIn(old, 'p').assignments);
  });

  test('one that needs more by its own word grows the room of all, where there is room; nobody goes or moves for it', () => {
    const architecture = { layers: 28, kvHeads: 4, headSize: 128, hiddenSize: 3584, feedForwardSize: 18_944, vocabulary: 152_064 };
    const artifacts = [{ name: 'gen', uri: 'pvc://m', phase: 'Ready', weightBytes: 15_231_233_024, architecture }];
    const engine = { type: 'VLLM', vLLM: { image: 'vllm:1', maxModelLen: 8192, maxNumSeqs: 16 } };
    const gen = { ...swap('gen', 'Auto', 'dgx-1/gpu0', 'Generalist'), engine };
    const start = (others: readonly ExpertPool[]): PlacementSnapshot => {
      const pool = gpuPool('p', [gen, swap('go', '16Gi', 'dgx-1/gpu0')]);
      return settle(snapshot({ pools: [{ ...pool, status: { ...pool.status, artifacts } } as unknown as ExpertPool, ...others] }));
    };
    const memory = { estimated: gib, measured: 2 * gib, errorRatio: '0.5' };
    const told = (world: PlacementSnapshot): PlacementSnapshot => {
      const [pool, ...others] = world.pools as [ExpertPool];
      const status = { ...pool.status, experts: [{ name: 'gen', memory }] };
      return settle({ ...world, pools: [{ ...pool, status } as unknown as ExpertPool, ...others] });
    };
    const free = start([]);
    const [before] = planIn(free, 'p').assignments;
    expect(before).toMatchObject({ item: 'gen', bytes: before?.awakeBytes });
    const [grown, ...others] = planIn(told(free), 'p').assignments;
    expect(grown).toEqual({ ...before, bytes: (before?.bytes ?? 0) + 2 * gib, awakeBytes: (before?.bytes ?? 0) + 2 * gib });
    expect(others).toEqual(planIn(free, 'p').assignments.slice(1));
    const full = start([gpuPool('q', [onGpu('gen', 'Generalist', '17Gi', 'dgx-1/gpu0')])]);
    expect(planIn(told(full), 'p').assignments).toEqual(planIn(full, 'p').assignments);
  });

  test('together they move to another board when theirs is lost, and stay where it is sound', () => {
    const free = [swap('gen', '17Gi', undefined, 'Generalist'), swap('go', '16Gi')];
    const before = only(free);
    const [{ slot: home } = { slot: '' }] = planIn(before, 'p').assignments;
    const left = [0, 1, 2, 3].filter((index) => `dgx-1/gpu${index}` !== home).map((index) => device(index));
    const after = settle({ ...before, cluster: { ...before.cluster, slices: box(left).slices } });
    const slots = new Set(planIn(after, 'p').assignments.map(({ slot }) => slot));
    expect(slots.size).toBe(1);
    expect(slots.has(home)).toBe(false);
    expect(shares(planIn(after, 'p'))).toEqual(shares(planIn(before, 'p')));
  });

  test('a dry run proposes the same and takes nothing', () => {
    const pool = gpuPool('p', four, { placement: { dryRun: true } });
    const world = settle(snapshot({ pools: [pool] }));
    const { plan, proposedPlan } = (world.pools[0]?.status ?? {}) as { plan?: PlanStatus; proposedPlan?: PlanStatus };
    expect(plan).toBeUndefined();
    expect(shares(proposedPlan as PlanStatus)).toEqual({ gen: [17, 17], go: [1.5, 16], js: [1.5, 16], py: [1.5, 15] });
  });

  test('where a driver counts bytes each claims its share, and a bigger newcomer changes no claim', () => {
    const requestPolicy = { default: '40Gi', validRange: { min: '1Mi' } };
    const capacity = { memory: { value: '40Gi', requestPolicy } };
    const shared = [0, 1].map((index) => device(index, { allowMultipleAllocations: true, capacity }));
    const before = only(four, { cluster: box(shared) });
    const plan = planIn(before, 'p');
    expect(new Set(plan.assignments.map(({ claim }) => claim)).size).toBe(4);
    const sizes = before.claims.map((claim) => JSON.stringify((claim as unknown as { spec: object }).spec).match(/"memory":"?(\d+)/)?.[1]);
    expect(sizes.map((bytes) => Number(bytes) / gib).sort((a, b) => a - b)).toEqual([1.5, 1.5, 1.5, 17]);
    const big = changed(before, [...four, swap('rs', '20Gi', 'dgx-1/gpu0')]);
    const claims = (world: PlacementSnapshot): readonly (readonly [string, string | undefined])[] =>
      planIn(world, 'p')
        .assignments.filter(({ item }) => item !== 'rs')
        .map(({ item, claim }) => [item, claim]);
    expect(claims(big)).toEqual(claims(before));
  });
});

describe('a canary of an engine that takes turns', () => {
  const pool = (experts: Experts, rollout: object = {}): ExpertPool =>
    gpuPool('p', experts, { rollout: { strategy: 'Canary', drainSeconds: 60, ...rollout } });
  const item = (of: ExpertPool, name: string): string => `${name}.${hashIn(of, name)}`;
  const fleet: Experts = [swap('gen', '30Gi', 'dgx-1/gpu0', 'Generalist'), swap('go', '16Gi', 'dgx-1/gpu0')];
  const other = (more: object): Experts => fleet.map((expert) => (expert['name'] === 'gen' ? { ...expert, ...more } : expert));

  function trial(experts: Experts, rollout: object = {}) {
    const [first, next] = [pool(fleet, rollout), pool(experts, rollout)];
    const cluster = box([device(0)]);
    const before = settle(
      withPool(snapshot({ cluster }), inRollout(first, first, { phase: 'Idle', stable: revisionOfPool(first) }), first),
    );
    const open = { phase: 'Loading' as const, stable: revisionOfPool(first), canary: revisionOfPool(next) };
    const [stable] = before.pools as [ExpertPool];
    return { first, next, before, tried: settle(withPool(before, inRollout(stable, next, open), first)) };
  }

  test.each([{}, { surge: 'SameSlot' }])('needs a sleeper on the one GPU that there is: %j', (rollout) => {
    const { first, next, before, tried } = trial(other({ domains: ['python'] }), rollout);
    const plan = planIn(tried, 'p');
    expect(shares(plan)).toEqual({ [item(first, 'gen')]: [30, 30], [item(first, 'go')]: [1.5, 16], [item(next, 'gen')]: [1.5, 30] });
    expect(plan.assignments.filter((place) => place.item !== item(next, 'gen'))).toEqual(planIn(before, 'p').assignments);
    expect(plan.assignments.every(({ admitted }) => admitted)).toBe(true);
  });

  test('that is bigger needs what it has more; one that is too big is refused with it and moves nobody', () => {
    const bigger = trial(other({ resources: { slot: 'dgx-1/gpu0', memory: { budget: '32Gi' } } }));
    expect(shares(planIn(bigger.tried, 'p'))[item(bigger.next, 'gen')]).toEqual([3.5, 32]);
    const huge = trial(other({ resources: { slot: 'dgx-1/gpu0', memory: { budget: '39Gi' } } }));
    const { assignments, rejected } = planIn(huge.tried, 'p');
    expect(assignments).toEqual(planIn(huge.before, 'p').assignments);
    const room = (39 + 2 * 1.5) * gib - Math.floor(39.5 * gib * 0.92);
    expect(rejected).toEqual([{ item: item(huge.next, 'gen'), slot: 'dgx-1/gpu0', reason: 'NotEnoughMemory', shortByBytes: room }]);
  });

  test('takes the room over when it is promoted and the old one is gone', () => {
    const { first, next, tried } = trial(other({ domains: ['python'] }));
    const [open] = tried.pools as [ExpertPool];
    const promoted = withPool(tried, inRollout(open, next, { phase: 'Idle', stable: revisionOfPool(next) }), first, next);
    const waits = settle({ ...promoted, present: () => true });
    expect(planIn(waits, 'p').assignments).toEqual(planIn(tried, 'p').assignments);
    const after = settle({ ...waits, present: () => false });
    expect(shares(planIn(after, 'p'))).toEqual({ [item(next, 'gen')]: [30, 30], [item(next, 'go')]: [1.5, 16] });
  });
});
