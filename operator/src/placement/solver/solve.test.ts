import { describe, expect, test } from 'vitest';
import { allToAll, box, gibibyte } from '../testing/problems.ts';
import { solve, type Item, type Problem, type Solution } from './index.ts';

const slots = box(4);
const gpu = (index: number): string => `dgx-1/gpu${index}`;
const decode = (name: string, gib: number, more: Partial<Item> = {}): Item => ({
  name,
  bytes: gib * gibibyte,
  latency: 'Decode',
  rank: 'Specialist',
  ...more,
});
const fleet: readonly Item[] = [
  decode('core', 34, { rank: 'Core' }),
  ...['py', 'js', 'sh', 'edit'].map((name) => decode(name, 8.5, { slots: [gpu(1)] })),
  { name: 'ebm', bytes: 5 * gibibyte, latency: 'Score', rank: 'Verifier' },
  { name: 'hrm', bytes: 1.2 * gibibyte, latency: 'Tiny', rank: 'Planner' },
  { name: 'embedder', bytes: 2.2 * gibibyte, latency: 'Tiny', rank: 'Planner' },
  { name: 'tpc', bytes: 1.3 * gibibyte, latency: 'Tiny', rank: 'Planner' },
];
const traffic = ['ebm', 'hrm'].map((b) => ({ a: 'core', b, weight: 0.1 }));
const problem: Problem = { slots, links: allToAll(slots), items: fleet, traffic, current: new Map(), nvlink: 'Preferred' };
const slotOf = (solution: ReturnType<typeof solve>, item: string): string | undefined =>
  solution.assignments.find((assignment) => assignment.item === item)?.slots.join(' ');

describe('the box of four A100', () => {
  test('has a place for all, proved the best, with the core alone among those that decode', () => {
    const solution = solve(problem);
    expect(solution).toMatchObject({ feasible: true, proved: true, unplaced: [], rejections: [] });
    expect(['py', 'js', 'sh', 'edit'].map((item) => slotOf(solution, item))).toEqual(Array.from({ length: 4 }, () => gpu(1)));
    expect(slotOf(solution, 'core')).not.toBe(gpu(1));
  });

  test('four specialists in bf16 are refused with the shortage in bytes, and the rest has its place', () => {
    const items = fleet.map((item) => (item.rank === 'Specialist' ? { ...item, bytes: 17 * gibibyte } : item));
    const solution = solve({ ...problem, items });
    expect(solution.feasible).toBe(false);
    expect(solution.unplaced).toHaveLength(2);
    const short = 3 * 17 * gibibyte - Math.floor(39.5 * gibibyte * 0.92);
    for (const item of solution.unplaced) {
      expect(solution.rejections).toContainEqual({ item, slot: gpu(1), reason: 'NotEnoughMemory', shortByBytes: short });
      expect(solution.rejections).toContainEqual({ item, slot: gpu(0), reason: 'NotAllowed' });
    }
    expect(slotOf(solution, 'core')).toBeDefined();
  });

  test('a lost board is left by what was there; rank decides which gives way first', () => {
    const lost = slots.map((slot) => (slot.name === gpu(1) ? { ...slot, healthy: false } : slot));
    const anywhere = fleet.map((item): Item => ({ ...item, slots: slots.map(({ name }) => name) }));
    const more = [...anywhere, decode('second', 34, { rank: 'Core' }), decode('canary', 30, { rank: 'Canary' })];
    const solution = solve({ ...problem, slots: lost, items: more });
    expect(solution.unplaced).toContain('canary');
    expect(solution.unplaced).not.toContain('core');
    expect(solution.unplaced).not.toContain('second');
    expect(solution.rejections).toContainEqual({ item: 'canary', slot: gpu(1), reason: 'Unhealthy' });
  });
});

describe('rules of items', () => {
  const solveItems = (items: readonly Item[], more: Partial<Problem> = {}): ReturnType<typeof solve> =>
    solve({ ...problem, items, traffic: [], ...more });

  test('a slot that does not exist is named', () => {
    const solution = solveItems([decode('a', 1, { slots: ['dgx-1/gpu9'] })]);
    expect(solution).toMatchObject({ feasible: false, unplaced: ['a'] });
    expect(solution.rejections).toContainEqual({ item: 'a', slot: 'dgx-1/gpu9', reason: 'UnknownSlot' });
  });

  test('two exclusive tenants do not share a slot, and one tolerates only its group', () => {
    const solution = solveItems([
      decode('a', 1, { slots: [gpu(0)], exclusive: true, group: 'core' }),
      decode('draft', 1, { group: 'core' }),
      decode('b', 2, { slots: [gpu(0)], exclusive: true }),
    ]);
    expect(solution.unplaced).toEqual(['b']);
    expect(slotOf(solution, 'draft')).toBe(gpu(0));
    expect(solution.rejections).toContainEqual({ item: 'b', slot: gpu(0), reason: 'Exclusive' });
  });

  test('stable and canary of one verifier are apart', () => {
    const solution = solveItems([
      decode('stable', 1, { slots: [gpu(2)] }),
      decode('canary', 1, { slots: [gpu(2)], apart: ['stable'], rank: 'Canary' }),
    ]);
    expect(solution.unplaced).toEqual(['canary']);
    expect(solution.rejections).toContainEqual({ item: 'canary', slot: gpu(2), reason: 'Apart' });
  });

  test('shards take slots of one node that NVLink joins', () => {
    const pairs = [
      { a: gpu(0), b: gpu(1), type: 'NV' as const },
      { a: gpu(2), b: gpu(3), type: 'NV' as const },
    ];
    const items = [decode('wide', 20, { shards: 2 }), decode('pinned', 30, { slots: [gpu(0)] })];
    expect(slotOf(solveItems(items, { links: pairs }), 'wide')).toBe(`${gpu(2)} ${gpu(3)}`);
    const apart = solveItems(items, { links: [] });
    expect(apart.unplaced).toEqual(['wide']);
    expect(apart.rejections).toContainEqual({ item: 'wide', slot: gpu(2), reason: 'NotJoined' });
    // The one that it fits on is informed of what the other one lacks.
    const important = [...items, decode('other', 30, { slots: [gpu(3)] })].map((item): Item => ({ ...item, rank: 'Core' }));
    const crowded = solveItems([{ ...important[0]!, rank: 'Canary' }, ...important.slice(1)], { links: pairs.slice(1) });
    const lack = { item: 'wide', reason: 'NotEnoughMemory', shortByBytes: 50 * gibibyte - Math.floor(39.5 * gibibyte * 0.92) } as const;
    expect(crowded.rejections).toEqual([
      { item: 'wide', slot: gpu(0), reason: 'NotJoined' },
      { item: 'wide', slot: gpu(1), reason: 'NotJoined' },
      { ...lack, slot: gpu(2) },
      { ...lack, slot: gpu(3) },
    ]);
  });

  test('shards need no NVLink where links count for nothing, and one node still', () => {
    const item = decode('wide', 20, { shards: 2 });
    expect(slotOf(solveItems([item], { links: [], nvlink: 'Ignore' }), 'wide')).toBe(`${gpu(0)} ${gpu(1)}`);
    const two = [...box(1, 'a'), ...box(1, 'b')];
    expect(solveItems([item], { slots: two, links: allToAll(two), nvlink: 'Ignore' }).feasible).toBe(false);
  });

  test('nothing spans MIG slices or talks across them, whatever links are declared; on one of them it may', () => {
    const cut = slots.map((slot, index) => (index < 2 ? slot : { ...slot, isolated: true }));
    const links = allToAll(cut);
    const far = { slots: cut, links, nvlink: 'Ignore' } as const;
    const wide = decode('wide', 20, { shards: 2, slots: [gpu(2), gpu(3)] });
    expect(solveItems([wide], far).rejections).toContainEqual({ item: 'wide', slot: gpu(2), reason: 'NotJoined' });
    expect(solveItems([{ ...wide, slots: [gpu(1), gpu(2)] }], far).feasible).toBe(false);
    const talk = [{ a: 'a', b: 'b', weight: 1 }];
    const pair = (a: number, b: number): readonly Item[] => [decode('a', 5, { slots: [gpu(a)] }), decode('b', 5, { slots: [gpu(b)] })];
    for (const nvlink of ['Preferred', 'Required', 'Ignore'] as const) {
      const at = (a: number, b: number): Solution => solveItems(pair(a, b), { slots: cut, links, traffic: talk, nvlink });
      expect(at(2, 3).rejections.filter(({ slot }) => slot === gpu(3) || slot === gpu(2))).toContainEqual(
        expect.objectContaining({ reason: 'NotLinked' }),
      );
      expect(at(1, 2).feasible).toBe(false);
      expect([at(2, 2).feasible, at(0, 1).feasible]).toEqual([true, true]);
    }
    // An item without links shares a board's slices as it likes.
    expect(solveItems(pair(2, 3), { slots: cut, links }).feasible).toBe(true);
  });

  test('NVLink that is required keeps items together that talk to each other', () => {
    const talk = [{ a: 'a', b: 'b', weight: 1 }];
    const items = [decode('a', 30), decode('b', 30, { slots: [gpu(3)] })];
    const links = [{ a: gpu(2), b: gpu(3), type: 'NV' as const }];
    expect(slotOf(solveItems(items, { links, traffic: talk, nvlink: 'Required' }), 'a')).toBe(gpu(2));
    expect(solveItems(items, { links: [], traffic: talk, nvlink: 'Required' }).feasible).toBe(false);
  });

  test('a small gain moves nothing, a large one does', () => {
    const items = [decode('a', 5, { migrationSeconds: 1 }), decode('b', 5, { migrationSeconds: 1 })];
    const apart = new Map([
      ['a', [gpu(0)]],
      ['b', [gpu(1)]],
    ]);
    const together = new Map([
      ['a', [gpu(0)]],
      ['b', [gpu(0)]],
    ]);
    expect(solveItems(items, { current: apart }).score.migration).toBe(0);
    expect(solveItems(items, { current: together }).score.migration).toBe(1);
    const slow = items.map((item): Item => ({ ...item, migrationSeconds: 60 }));
    expect(solveItems(slow, { current: together }).score.migration).toBe(0);
  });

  test('a search that has no time stays where all is', () => {
    const solution = solve(problem);
    const current = new Map(solution.assignments.map(({ item, slots }) => [item, slots]));
    const hurried = solve({ ...problem, current }, { maxSteps: 1 });
    expect(hurried.assignments).toEqual(solution.assignments);
    expect(hurried.proved).toBe(false);
    expect(hurried.bound).toBeLessThanOrEqual(hurried.score.total);
  });

  test('nothing to place is a plan, and nowhere to place it is none', () => {
    expect(solveItems([])).toMatchObject({ feasible: true, assignments: [] });
    expect(solveItems([decode('a', 1)], { slots: [], links: [] })).toMatchObject({ feasible: false, unplaced: ['a'] });
  });
});

test('four hundred slots of fifty nodes are searched like four', () => {
  const many = Array.from({ length: 50 }, (_, node) =>
    box(8).map((slot) => ({ ...slot, node: `dgx-${node}`, name: slot.name.replace('dgx-1', `dgx-${node}`) })),
  ).flat();
  const solution = solve({ ...problem, slots: many, links: [], items: [decode('core', 34, { rank: 'Core' }), decode('py', 8.5)] });
  expect(solution).toMatchObject({ feasible: true, unplaced: [] });
});
