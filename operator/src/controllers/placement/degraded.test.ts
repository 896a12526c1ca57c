import { findCondition } from '@agentfleet/kube';
import type { DegradedState, PlanStatus } from '@agentfleet/protocol/api';
import { describe, expect, test } from 'vitest';
import { decidePlacement, type PlacementSnapshot } from './decide.ts';
import { restoreAfterMs } from './degraded.ts';
import { degradedNote } from './degradedWords.ts';
import { box, device, onGpu } from './testing/box.ts';
import { atRest, core, draftBytes, draftedPool, gpuOf, verifier, withSick } from './testing/degrading.ts';
import { now, of, settle, word } from './testing/world.ts';

const gib = 2 ** 30;
const at = (seconds: number): number => now + seconds * 1000;
const after = restoreAfterMs / 1000;

const planOf = ({ pools }: PlacementSnapshot): PlanStatus | undefined => pools[0]?.status?.plan;
const degradedOf = (world: PlacementSnapshot): readonly DegradedState[] => planOf(world)?.degraded ?? [];
const itemsOf = (world: PlacementSnapshot): readonly string[] => (planOf(world)?.assignments ?? []).map(({ item }) => item);
const placeOf = (world: PlacementSnapshot, item: string) => planOf(world)?.assignments.find((place) => place.item === item);
const conditionsOf = ({ pools }: PlacementSnapshot) => pools[0]?.status?.conditions;

describe('a draft that has no room when a GPU is lost', () => {
  const experts = [core('32Gi'), onGpu('hrm', 'Planner', '9Gi')];
  const rest = (degradeTo: readonly string[]): PlacementSnapshot => atRest(2, { pools: [draftedPool(experts, { degradeTo })] });
  const lost = (world: PlacementSnapshot, time = 0): PlacementSnapshot => settle(withSick(world, 2, [gpuOf(world, 'gen') ?? 0]), at(time));

  test('is left out by consent, before the planner gives way, and this is told with a cure', () => {
    const before = rest(['NoDraft']);
    expect(degradedOf(before)).toEqual([]);
    const world = lost(before);
    expect(itemsOf(world)).toEqual(['gen', 'hrm']);
    expect(placeOf(world, 'gen')).toMatchObject({ withoutDraft: true, admitted: true });
    const saved = (placeOf(before, 'gen')?.bytes ?? 0) - (placeOf(world, 'gen')?.bytes ?? 0);
    expect(saved).toBeGreaterThan(draftBytes);
    expect(saved).toBeLessThan(draftBytes + gib);
    expect(degradedOf(world)).toEqual([{ mode: 'NoDraft', item: 'gen', since: '2030-01-01T00:00:00Z' }]);
    expect(findCondition(conditionsOf(world), 'PlacementFeasible')).toMatchObject({ status: 'True', reason: 'Degraded' });
    const told = findCondition(conditionsOf(world), 'PlacementDegraded');
    expect(told).toMatchObject({ status: 'True', reason: 'NoDraft' });
    expect(told?.message).toMatch(
      /gen goes without its draft \(spec\.placement\.degradeTo\); dgx-1\/gpu\d: the driver taints it.*see to the device/,
    );
  });

  test('stays without consent, and the planner gives way as ever; the refusal names the option', () => {
    const world = lost(rest([]));
    expect(itemsOf(world)).toEqual(['gen']);
    expect(placeOf(world, 'gen')?.withoutDraft).toBeUndefined();
    expect(degradedOf(world)).toEqual([]);
    expect(findCondition(conditionsOf(world), 'PlacementDegraded')).toBeUndefined();
    expect(findCondition(conditionsOf(world), 'PlacementFeasible')?.message).toContain('spec.placement.degradeTo');
  });

  test('is not left out for anything but a loss', () => {
    const first = atRest(1, { pools: [draftedPool(experts, { degradeTo: ['NoDraft'] })] });
    expect([itemsOf(first), degradedOf(first)]).toEqual([[], []]);
    const before = rest(['NoDraft']);
    const [pool] = before.pools;
    const more = draftedPool([...experts, onGpu('e-py', 'Specialist', '30Gi')], { degradeTo: ['NoDraft'] });
    const asked = settle({ ...before, pools: [{ ...more, status: pool?.status } as typeof more] });
    expect(degradedOf(asked)).toEqual([]);
    expect(itemsOf(asked)).toEqual(['gen', 'hrm']);
    expect(placeOf(asked, 'gen')).toEqual(placeOf(before, 'gen'));
  });

  test('comes back when there has been room for long enough, by the times of the status alone', () => {
    const world = lost(rest(['NoDraft']));
    const well = settle(withSick(world, 2, []), at(10));
    expect(degradedOf(well)).toEqual([{ mode: 'NoDraft', item: 'gen', since: '2030-01-01T00:00:00Z', fitsSince: '2030-01-01T00:00:10Z' }]);
    expect(placeOf(well, 'gen')).toEqual(placeOf(world, 'gen'));
    expect(findCondition(conditionsOf(well), 'PlacementDegraded')?.message).toContain(
      'there is room again, and it ends at 2030-01-01T00:02:10Z',
    );
    expect(decidePlacement(well, at(9 + after)).againAt).toBe(at(10 + after));
    expect(decidePlacement(well, at(9 + after)).statuses).toEqual([]);
    const back = settle(well, at(10 + after));
    expect(degradedOf(back)).toEqual([]);
    expect(placeOf(back, 'gen')?.withoutDraft).toBeUndefined();
    expect(placeOf(back, 'gen')?.bytes).toBe(32 * gib);
    expect(itemsOf(back)).toEqual(['gen', 'hrm']);
    expect(findCondition(conditionsOf(back), 'PlacementDegraded')).toBeUndefined();
    // One of the two was started anew and nobody else; whoever is on a sound GPU with room stays.
    expect([gpuOf(back, 'gen') === gpuOf(world, 'gen'), gpuOf(back, 'hrm') === gpuOf(world, 'hrm')].filter((stays) => stays)).toHaveLength(
      1,
    );
  });

  test('waits anew when the room is lost in between', () => {
    const world = lost(rest(['NoDraft']));
    const sick = [0, 1].filter((index) => index !== gpuOf(world, 'gen'));
    const well = settle(withSick(world, 2, []), at(10));
    const again = settle(withSick(well, 2, sick), at(60));
    expect(degradedOf(again)[0]?.fitsSince).toBeUndefined();
    const late = settle(withSick(again, 2, []), at(100));
    expect(degradedOf(late)[0]?.fitsSince).toBe('2030-01-01T00:01:40Z');
    expect(degradedOf(settle(late, at(99 + after)))).toHaveLength(1);
    expect(degradedOf(settle(late, at(100 + after)))).toEqual([]);
  });

  test('is not taken away once more when consent is withdrawn, nor given back before there is room', () => {
    const world = lost(rest(['NoDraft']));
    const [pool] = world.pools;
    const without = { ...pool!, spec: { ...pool!.spec, placement: { ...pool!.spec.placement!, degradeTo: [] } } };
    const kept = settle({ ...world, pools: [without] }, at(500));
    expect(planOf(kept)).toEqual(planOf(world));
  });

  test('stays where giving up specialists is enough', () => {
    const specialists = [core('32Gi'), onGpu('e-py', 'Specialist', '9Gi')];
    const world = lost(atRest(2, { pools: [draftedPool(specialists, { degradeTo: ['NoDraft'] })] }));
    expect([itemsOf(world), degradedOf(world)]).toEqual([['gen'], []]);
  });
});

describe('a GPU that has less memory than before', () => {
  const smaller = (world: PlacementSnapshot, memory: string): PlacementSnapshot => {
    const less = { capacity: { memory: { value: memory } } };
    return { ...world, cluster: { ...world.cluster, slices: box([device(0, less)]).slices } };
  };
  const of = (degradeTo: readonly string[]): PlacementSnapshot =>
    atRest(1, { pools: [draftedPool([core('30Gi', 'dgx-1/gpu0'), onGpu('e-py', 'Specialist', '2Gi')], { degradeTo })] });

  test('is left by the specialist, and then by the draft', () => {
    const less = settle(smaller(of(['NoDraft']), '32Gi'), now);
    expect([itemsOf(less), degradedOf(less)]).toEqual([['gen'], []]);
    const least = settle(smaller(less, '24Gi'), now);
    expect(itemsOf(least)).toEqual(['gen']);
    expect(degradedOf(least)).toMatchObject([{ mode: 'NoDraft', item: 'gen' }]);
    expect(placeOf(least, 'gen')?.bytes).toBeLessThan(23.5 * gib);
    const back = settle(settle(smaller(least, '40Gi'), at(10)), at(10 + after));
    expect([itemsOf(back), degradedOf(back)]).toEqual([['e-py', 'gen'], []]);
  });

  test('is given to nobody for whom it is too small, without consent', () => {
    expect(itemsOf(settle(smaller(of([]), '24Gi'), now))).toEqual(['e-py']);
  });
});

describe('a Draft expert', () => {
  const experts = [onGpu('gen', 'Generalist', '30Gi'), onGpu('weigh', 'Draft', '9Gi')];

  test('that has no place is gone without by consent, and comes back', () => {
    const before = atRest(2, { pools: [draftedPool(experts, { degradeTo: ['NoDraft'] })] });
    const world = settle(withSick(before, 2, [gpuOf(before, 'weigh') ?? 0]), now);
    expect(itemsOf(world)).toEqual(['gen']);
    expect(degradedOf(world)).toEqual([{ mode: 'NoDraft', item: 'weigh', since: '2030-01-01T00:00:00Z' }]);
    expect(findCondition(conditionsOf(world), 'PlacementFeasible')).toMatchObject({ status: 'True' });
    expect(findCondition(conditionsOf(world), 'PlacementDegraded')?.message).toContain('weigh has no place');
    const well = settle(withSick(world, 2, []), at(10));
    expect(itemsOf(well)).toEqual(['gen']);
    const back = settle(well, at(10 + after));
    expect([itemsOf(back), degradedOf(back)]).toEqual([['gen', 'weigh'], []]);
    expect(placeOf(back, 'gen')).toEqual(placeOf(before, 'gen'));
  });
});

describe('a GPU that experts and verifier share', () => {
  const antiAffinity = [{ expert: 'gen', from: ['EnergyModel'] }];
  const experts = [onGpu('gen', 'Generalist', '20Gi')];
  const fleet = (degradeTo: readonly string[]): PlacementSnapshot =>
    atRest(2, { pools: [draftedPool(experts, { antiAffinity, degradeTo }, { energyModelRef: { name: 'judge' } })], models: [verifier()] });
  const judged = ({ models }: PlacementSnapshot) => models[0]?.status;

  test.each([
    ['the core', 'gen'],
    ['the verifier', 'judge'],
  ] as const)('by consent when %s loses its own; who lost it goes back, and the other one never moves', (_, item) => {
    const before = fleet(['SharedVerifier']);
    const [other] = ['gen', 'judge'].filter((one) => one !== item) as [string];
    expect(gpuOf(before, 'gen')).not.toBe(gpuOf(before, 'judge'));
    const home = gpuOf(before, other);
    const world = settle(withSick(before, 2, [gpuOf(before, item) ?? 0]), now);
    expect([gpuOf(world, 'gen'), gpuOf(world, 'judge')]).toEqual([home, home]);
    const told = item === 'gen' ? world.pools[0]?.status : judged(world);
    expect(told?.plan?.degraded).toEqual([{ mode: 'SharedVerifier', item, since: '2030-01-01T00:00:00Z' }]);
    expect(findCondition(told?.conditions, 'PlacementDegraded')).toMatchObject({ reason: 'SharedVerifier' });
    const well = settle(withSick(world, 2, []), at(10));
    expect([gpuOf(well, 'gen'), gpuOf(well, 'judge')]).toEqual([home, home]);
    const back = settle(well, at(10 + after));
    expect(gpuOf(back, other)).toBe(home);
    expect(gpuOf(back, item)).not.toBe(home);
    expect([...back.pools, ...back.models].flatMap(({ status }) => status?.plan?.degraded ?? [])).toEqual([]);
  });

  test('is none without consent', () => {
    const before = fleet([]);
    const world = settle(withSick(before, 2, [gpuOf(before, 'gen') ?? 0]), now);
    expect(gpuOf(world, 'gen')).toBe(gpuOf(before, 'gen'));
    expect(findCondition(conditionsOf(world), 'PlacementFeasible')).toMatchObject({ status: 'False', reason: 'SlotTainted' });
    const unjudged = settle(withSick(before, 2, [gpuOf(before, 'judge') ?? 0]), now);
    expect(gpuOf(unjudged, 'judge')).toBe(gpuOf(before, 'judge'));
  });

  test('is none where the core shares with nobody at all', () => {
    const alone = [{ expert: 'gen', from: ['EnergyModel', '*'] }];
    const pool = draftedPool(experts, { antiAffinity: alone, degradeTo: ['SharedVerifier'] }, { energyModelRef: { name: 'judge' } });
    const before = atRest(2, { pools: [pool], models: [verifier()] });
    const world = settle(withSick(before, 2, [gpuOf(before, 'gen') ?? 0]), now);
    expect([degradedOf(world), gpuOf(world, 'gen')]).toEqual([[], gpuOf(before, 'gen')]);
  });
});

describe('a verifier whose GPU is lost', () => {
  const slot = 'dgx-1/gpu1';
  const planned = ({ models }: PlacementSnapshot): PlanStatus | undefined => models[0]?.status?.plan;
  const lost = (withoutGpu?: string): PlacementSnapshot => {
    const model = verifier({ slot, ...(withoutGpu === undefined ? {} : { withoutGpu }) });
    return settle(withSick(atRest(2, { models: [model] }), 2, [1]), now);
  };

  test('waits there as ever, unless it may run on CPU', () => {
    const waiting = lost();
    expect(planned(waiting)?.assignments.map((place) => place.slot)).toEqual([slot]);
    expect(planned(waiting)?.degraded).toBeUndefined();
    const told = findCondition(waiting.models[0]?.status?.conditions, 'PlacementFeasible');
    expect(told).toMatchObject({ status: 'False', reason: 'SlotTainted' });
    expect(told?.message).toContain('spec.resources.withoutGpu: CPU');
  });

  test('runs on CPU by consent, and gets its GPU back when it is its turn to start there', () => {
    const world = lost('CPU');
    expect(planned(world)).toMatchObject({ assignments: [], degraded: [{ mode: 'CpuVerifier', item: 'judge' }] });
    const well = settle(withSick(world, 2, []), at(10));
    expect(planned(well)?.assignments).toEqual([]);
    // Somebody else starts on that GPU: the verifier has its place again, and serves on CPU until then.
    const busy = settle({ ...well, pools: [draftedPool([onGpu('gen', 'Generalist', '9Gi', slot)])], progress: () => 'Starting' }, at(20));
    const waiting = settle(busy, at(10 + after));
    expect(planned(waiting)).toMatchObject({
      assignments: [{ item: 'judge', slot, admitted: false }],
      degraded: [{ mode: 'CpuVerifier', item: 'judge' }],
    });
    const back = settle({ ...waiting, progress: () => 'Ready' }, at(11 + after));
    expect(planned(back)).toMatchObject({ assignments: [{ item: 'judge', slot, admitted: true }] });
    expect(planned(back)?.degraded).toBeUndefined();
  });

  test('is refused as ever when it does not fit at first', () => {
    const model = verifier({ memory: { budget: '60Gi' }, withoutGpu: 'CPU' });
    const decision = decidePlacement(atRest(2, { models: [model] }), now);
    const told = of(decision, 'judge') ?? {};
    expect(told.plan?.degraded).toBeUndefined();
    expect(word(decision, 'judge')?.status ?? 'False').toBe('False');
  });
});

test('what begins, changes and ends is told once each', () => {
  const told = (reason: string) => [{ type: 'PlacementDegraded', status: 'True', reason, message: 'm', lastTransitionTime: '' } as const];
  expect(degradedNote([], told('NoDraft'))).toMatchObject({ type: 'Warning', reason: 'NoDraft', note: 'm' });
  expect(degradedNote(told('NoDraft'), told('NoDraft'))).toBeUndefined();
  expect(degradedNote(told('NoDraft'), told('SharedVerifier'))).toMatchObject({ reason: 'SharedVerifier' });
  expect(degradedNote(told('NoDraft'), [])).toMatchObject({ type: 'Normal', reason: 'PlanRestored' });
  expect(degradedNote(undefined, undefined)).toBeUndefined();
});

test('engines give way by rank, whichever they are', () => {
  const roles = [
    ['gen', 'Generalist'],
    ['hrm', 'Planner'],
    ['weigh', 'Draft'],
    ['e-py', 'Specialist'],
  ] as const;
  const experts = roles.map(([name, role]) => onGpu(name, role, '30Gi'));
  let world = atRest(5, { pools: [draftedPool(experts)], models: [] });
  const gone: number[] = [];
  const order: string[] = [];
  while (itemsOf(world).length > 1) {
    const before = itemsOf(world);
    gone.push(gpuOf(world, 'gen') ?? 0);
    world = settle(withSick(world, 5, gone), at(gone.length));
    order.push(...before.filter((item) => !itemsOf(world).includes(item)));
  }
  expect(order).toEqual(['e-py', 'weigh', 'hrm']);
  expect(itemsOf(world)).toEqual(['gen']);
});
