import { findCondition } from '@agentfleet/kube';
import type { ExpertPool, PlanStatus } from '@agentfleet/protocol/api';
import { describe, expect, test } from 'vitest';
import { decidePlacement, type PlacementSnapshot } from './decide.ts';
import { nodeOfSlot } from '../../placement/index.ts';
import { box, device, gpuPool, onGpu, slice, snapshot } from './testing/box.ts';
import { hashIn, inRollout, planIn, revisionOfPool, withPool } from './testing/revisions.ts';
import { now, settle } from './testing/world.ts';

const gib = 2 ** 30;

type Experts = readonly Readonly<Record<string, unknown>>[];

const fleet: Experts = [
  onGpu('gen', 'Generalist', '30Gi', 'dgx-1/gpu0'),
  onGpu('py', 'Specialist', '9Gi', 'dgx-1/gpu1'),
  onGpu('plan', 'Planner', '2Gi', 'dgx-1/gpu2'),
];

const pool = (experts: Experts = fleet, placement: object = {}): ExpertPool =>
  gpuPool('p', experts, { rolloutPolicyRef: { name: 'careful' }, placement });

/** The same fleet with something else of one expert. */
const other = (name: string, more: object): Experts => fleet.map((expert) => (expert['name'] === name ? { ...expert, ...more } : expert));

const item = (of: ExpertPool, name: string): string => `${name}.${hashIn(of, name)}`;
const slotOf = ({ assignments }: PlanStatus, name: string): string | undefined => assignments.find((place) => place.item === name)?.slot;

/** A fleet that serves, and the first revision of it. */
function serving(first: ExpertPool, parts: Partial<PlacementSnapshot> = {}): PlacementSnapshot {
  const stable = inRollout(first, first, { phase: 'Idle', stable: revisionOfPool(first) });
  return settle(withPool(snapshot(parts), stable, first));
}

interface Trial {
  readonly first: ExpertPool;
  readonly next: ExpertPool;
  readonly before: PlacementSnapshot;
  readonly tried: PlacementSnapshot;
}

/** Another revision is tried. */
function trial(experts: Experts, rollout: object = {}, parts: Partial<PlacementSnapshot> = {}): Trial {
  const [first, next] = [pool(fleet, rollout), pool(experts, rollout)];
  const before = serving(first, parts);
  const [stable] = before.pools as [ExpertPool];
  const open = { phase: 'Loading' as const, stable: revisionOfPool(first), canary: revisionOfPool(next) };
  return { first, next, before, tried: settle(withPool(before, inRollout(stable, next, open), first)) };
}

/** Next state of the rollout, with pods of the assignments that `present` names. */
function later({ first, next, tried }: Trial, rollout: object, present: (name: string) => boolean): PlacementSnapshot {
  const [open] = tried.pools as [ExpertPool];
  const world = withPool(tried, inRollout(open, next, rollout), first, next);
  return settle({ ...world, present: (_, assignment) => present(assignment.item) });
}

describe('where a canary goes', () => {
  const changed = other('py', { domains: ['python'] });

  test('beside the one that serves, on the same claim; nothing of that moves', () => {
    const { first, next, before, tried } = trial(changed);
    const plan = planIn(tried, 'p');
    expect(plan.assignments.map((place) => place.item).sort()).toEqual(
      [item(first, 'gen'), item(first, 'py'), item(next, 'py'), item(first, 'plan')].sort(),
    );
    expect(slotOf(plan, item(next, 'py'))).toBe('dgx-1/gpu1');
    expect(plan.assignments.filter((place) => place.item !== item(next, 'py'))).toEqual(planIn(before, 'p').assignments);
    expect(tried.claims).toEqual(before.claims);
    const [stable, canary] = [first, next].map((of) => plan.assignments.find((place) => place.item === item(of, 'py')));
    expect(canary?.claim).toBe(stable?.claim);
    expect(canary?.admitted).toBe(true);
  });

  test('where there is no room beside it, any of the node', () => {
    const changed = other('gen', { domains: ['python'] });
    const { next, tried } = trial(changed);
    expect(slotOf(planIn(tried, 'p'), item(next, 'gen'))).toBe('dgx-1/gpu3');
  });

  test('where the spec of the canary names another slot, nowhere else', () => {
    const named = other('py', { resources: { slot: 'dgx-1/gpu0', memory: { budget: '9Gi' } } });
    const { next, before, tried } = trial(named);
    const plan = planIn(tried, 'p');
    expect(plan.assignments).toEqual(planIn(before, 'p').assignments);
    expect(plan.rejected?.map(({ item: who, slot }) => [who, slot])).toEqual([[item(next, 'py'), 'dgx-1/gpu0']]);
  });
});

describe('a canary without room', () => {
  test('is refused with the bytes, all of its revision wait, and what serves is placed as before', () => {
    const experts = fleet.map((expert) => {
      if (expert['name'] === 'gen') return onGpu('gen', 'Generalist', '35Gi', 'dgx-1/gpu0');
      return expert['name'] === 'py' ? { ...expert, domains: ['python'] } : expert;
    });
    const { next, before, tried } = trial(experts, {}, { cluster: box([0, 1, 2].map((index) => device(index))) });
    const plan = planIn(tried, 'p');
    expect(plan.assignments).toEqual(planIn(before, 'p').assignments);
    const short = plan.rejected?.filter(({ item: who }) => who === item(next, 'gen')) ?? [];
    // The least of all: beside the planner; 8 % of 39.5 GiB stay free.
    expect(short[0]).toMatchObject({ reason: 'NotEnoughMemory', slot: 'dgx-1/gpu2' });
    expect(short[0]?.shortByBytes).toBe(37 * gib - Math.floor(39.5 * gib * 0.92));
    expect(findCondition(tried.pools[0]?.status?.conditions, 'PlacementFeasible')).toMatchObject({ status: 'True', reason: 'Placed' });
  });
});

describe('when it is decided', () => {
  const changed = other('py', { domains: ['python'] });

  test('a promotion moves and renames nothing; the old engine keeps its memory until its pods are gone', () => {
    const all = trial(changed);
    const promoted = { phase: 'Idle', stable: revisionOfPool(all.next), lastGreen: [revisionOfPool(all.first)] };
    expect(
      planIn(
        later(all, promoted, () => true),
        'p',
      ).assignments,
    ).toEqual(planIn(all.tried, 'p').assignments);
    const gone = planIn(
      later(all, promoted, (name) => name !== item(all.first, 'py')),
      'p',
    );
    expect(gone.assignments).toEqual(planIn(all.tried, 'p').assignments.filter((place) => place.item !== item(all.first, 'py')));
  });

  test('one that came up on another slot than its spec names stays there', () => {
    const all = trial(other('gen', { domains: ['python'] }));
    const promoted = { phase: 'Idle', stable: revisionOfPool(all.next), lastGreen: [revisionOfPool(all.first)] };
    const plan = planIn(
      later(all, promoted, () => false),
      'p',
    );
    expect(slotOf(plan, item(all.next, 'gen'))).toBe('dgx-1/gpu3');
    expect(slotOf(plan, item(all.first, 'gen'))).toBeUndefined();
  });

  test('a canary that failed keeps its memory until its pods are gone, and then it is free', () => {
    const all = trial(changed);
    const failed = { phase: 'Idle', stable: revisionOfPool(all.first), reason: 'GateFailed' };
    expect(
      planIn(
        later(all, failed, () => true),
        'p',
      ).assignments,
    ).toEqual(planIn(all.tried, 'p').assignments);
    const after = later(all, failed, (name) => name !== item(all.next, 'py'));
    expect(planIn(after, 'p').assignments).toEqual(planIn(all.before, 'p').assignments);
  });

  test('engines that have to end start no more', () => {
    const all = trial(changed, {}, { progress: (_, place) => (place.item.startsWith('gen') ? 'Starting' : 'Absent') });
    expect(planIn(all.tried, 'p').assignments.find((place) => place.item === item(all.next, 'py'))?.admitted).toBe(false);
    const failed = { phase: 'Idle', stable: revisionOfPool(all.first) };
    const world = later(all, failed, () => true);
    const ready = settle({ ...world, progress: () => 'Ready' });
    expect(planIn(ready, 'p').assignments.find((place) => place.item === item(all.next, 'py'))?.admitted).toBe(false);
  });
});

describe('what serves comes first', () => {
  test('when its board is lost, the canary ends, and it takes the place when the pods of the canary are gone', () => {
    const changed = other('gen', { domains: ['python'], resources: { memory: { budget: '30Gi' } } });
    const free = fleet.map((expert) => (expert['name'] === 'gen' ? onGpu('gen', 'Generalist', '30Gi') : expert));
    const [first, next] = [pool(free), pool(changed)];
    const cluster = box([0, 1, 2, 3].map((index) => device(index)));
    const before = serving(first, { cluster });
    const [stable] = before.pools as [ExpertPool];
    const open = { phase: 'Canary' as const, stable: revisionOfPool(first), canary: revisionOfPool(next) };
    const tried = settle(withPool(before, inRollout(stable, next, open), first));
    const [home, place] = [first, next].map((of) => slotOf(planIn(tried, 'p'), item(of, 'gen')) ?? '');
    expect(new Set([home, place]).size).toBe(2);
    // The others fill what is left, so that only the place of the canary would do.
    const crowd = gpuPool('crowd', [onGpu('a', 'Generalist', '20Gi', 'dgx-1/gpu1'), onGpu('b', 'Specialist', '20Gi', 'dgx-1/gpu2')]);
    const full = settle({ ...tried, pools: [...tried.pools, crowd] });
    const left = [0, 1, 2, 3].filter((index) => `dgx-1/gpu${index}` !== home).map((index) => device(index));
    const sick = { ...full, cluster: { ...full.cluster, slices: box(left).slices } };
    const waits = settle({ ...sick, present: () => true });
    const ending = planIn(waits, 'p').assignments.find(({ item: who }) => who === item(next, 'gen'));
    expect(ending).toMatchObject({ slot: place, admitted: false });
    expect(slotOf(planIn(waits, 'p'), item(first, 'gen'))).toBe(home);
    const after = settle({ ...waits, present: () => false });
    expect(slotOf(planIn(after, 'p'), item(first, 'gen'))).toBe(place);
    expect(slotOf(planIn(after, 'p'), item(next, 'gen'))).toBeUndefined();
  });

  test('when its node is drained, the canary ends that has the only other place', () => {
    const one: Experts = [onGpu('gen', 'Generalist', '30Gi')];
    const [first, next] = [pool(one), pool([{ ...one[0], domains: ['python'] }])];
    const slices = ['dgx-1', 'dgx-2'].map((node, at) => slice([device(at)], node));
    const before = serving(first, { cluster: box([], { slices, nodes: [] }) });
    const [stable] = before.pools as [ExpertPool];
    const open = { phase: 'Canary' as const, stable: revisionOfPool(first), canary: revisionOfPool(next) };
    const tried = settle(withPool(before, inRollout(stable, next, open), first));
    const [home = '', place = ''] = [first, next].map((of) => slotOf(planIn(tried, 'p'), item(of, 'gen')));
    expect(new Set([home, place]).size).toBe(2);
    const nodes = [{ metadata: { name: nodeOfSlot(home) }, spec: { unschedulable: true } }];
    const drained = { ...tried, cluster: { ...tried.cluster, nodes }, runs: () => false };
    const waits = planIn(settle({ ...drained, present: () => true }), 'p').assignments;
    expect(waits.find(({ item: who }) => who === item(next, 'gen'))).toMatchObject({ slot: place, admitted: false });
    expect(waits.find(({ item: who }) => who === item(first, 'gen'))).toMatchObject({ slot: home });
    const after = planIn(settle(drained), 'p');
    expect([item(first, 'gen'), item(next, 'gen')].map((who) => slotOf(after, who))).toEqual([place, undefined]);
  });

  test('when its node is drained, it leaves the place that it came up on, and the canary keeps its own', () => {
    const free = fleet.map((expert) => (expert['name'] === 'gen' ? onGpu('gen', 'Generalist', '30Gi') : expert));
    const changed = free.map((expert) => (expert['name'] === 'gen' ? { ...expert, domains: ['python'] } : expert));
    const [first, next] = [pool(free), pool(changed)];
    const slices = ['dgx-1', 'dgx-2'].map((node, at) =>
      slice(
        [0, 1, 2].map((index) => device(3 * at + index)),
        node,
      ),
    );
    const before = serving(first, { cluster: box([], { slices, nodes: [] }) });
    const [stable] = before.pools as [ExpertPool];
    const open = { phase: 'Canary' as const, stable: revisionOfPool(first), canary: revisionOfPool(next) };
    const tried = settle(withPool(before, inRollout(stable, next, open), first));
    const [home = '', place = ''] = [first, next].map((of) => slotOf(planIn(tried, 'p'), item(of, 'gen')));
    const nodes = ['dgx-1', 'dgx-2'].map((name) => ({ metadata: { name }, spec: { unschedulable: name === nodeOfSlot(home) } }));
    const gone = settle({ ...tried, cluster: { ...tried.cluster, nodes }, runs: (_, { slot }) => slot !== home });
    expect(slotOf(planIn(gone, 'p'), item(next, 'gen'))).toBe(place);
    expect(nodeOfSlot(slotOf(planIn(gone, 'p'), item(first, 'gen')) ?? home)).not.toBe(nodeOfSlot(home));
    const none = settle({ ...tried, cluster: { ...tried.cluster, nodes }, runs: () => false });
    expect(slotOf(planIn(none, 'p'), item(next, 'gen'))).toBe(place);
  });

  test('while the record of what serves is not to be seen, nothing moves', () => {
    const { next, before } = trial(other('py', { domains: ['python'] }));
    const [stable] = before.pools as [ExpertPool];
    const unknown = inRollout(stable, next, { phase: 'Idle', stable: '0123456789' });
    const decision = decidePlacement(withPool(before, unknown), now);
    expect([decision.statuses, decision.claims, decision.remove]).toEqual([[], [], []]);
  });
});
