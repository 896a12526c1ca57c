import * as fc from 'fast-check';
import { describe, expect, test } from 'vitest';
import { exhaustiveCost } from '../testing/exhaustive.ts';
import { alikeProblems, problems, wideProblems } from '../testing/problems.ts';
import { headroom, solve, weights, type Problem, type Solution } from './index.ts';

const numRuns = process.env['AGENTFLEET_FULL'] === '1' ? 20_000 : 300;

function placementOf({ assignments }: Solution): ReadonlyMap<string, readonly string[]> {
  return new Map(assignments.map(({ item, slots }) => [item, slots]));
}

function without(problem: Problem, name: string): Problem {
  return {
    ...problem,
    items: problem.items.filter((item) => item.name !== name),
    traffic: problem.traffic.filter(({ a, b }) => a !== name && b !== name),
  };
}

describe('any problem', () => {
  test('has the cost that trying all placements gives', () => {
    fc.assert(
      fc.property(problems(5, 3), (problem) => {
        const solution = solve(problem, { maxSteps: 1_000_000 });
        const best = exhaustiveCost(problem);
        expect(solution.feasible).toBe(best !== undefined);
        if (best !== undefined) expect(solution.score.total).toBeCloseTo(best, 6);
        expect(solution.proved).toBe(true);
        expect(solution.bound).toBeCloseTo(solution.score.total, 6);
      }),
      { numRuns },
    );
  });

  test('of parts that look alike has it as well', () => {
    fc.assert(
      fc.property(alikeProblems(4, 4), (problem) => {
        const best = exhaustiveCost(problem);
        expect(best).toBeDefined();
        expect(solve(problem, { maxSteps: 1_000_000 }).score.total).toBeCloseTo(best ?? 0, 6);
      }),
      { numRuns },
    );
  });

  test('of items that span several slots has it as well', () => {
    fc.assert(
      fc.property(wideProblems(4, 4), (problem) => {
        const best = exhaustiveCost(problem);
        const solution = solve(problem, { maxSteps: 1_000_000 });
        expect(solution.feasible).toBe(best !== undefined);
        if (best !== undefined) expect(solution.score.total).toBeCloseTo(best, 6);
        for (const { item, slots } of solution.assignments)
          expect(slots).toHaveLength(problem.items.find(({ name }) => name === item)?.shards ?? 0);
      }),
      { numRuns },
    );
  });

  test('is never reported to cost less than its bound, however early the search ends', () => {
    fc.assert(
      fc.property(problems(5, 3), fc.integer({ min: 1, max: 30 }), (problem, maxSteps) => {
        const best = exhaustiveCost(problem);
        const { bound, proved, feasible } = solve(problem, { maxSteps });
        if (best === undefined || !feasible) return;
        expect(bound).toBeLessThanOrEqual(best + 1e-6);
        if (proved) expect(bound).toBeCloseTo(best, 6);
      }),
      { numRuns },
    );
  });

  test('has one answer, whatever the order of its parts', () => {
    fc.assert(
      fc.property(problems(7, 4), (problem) => {
        const mirrored = {
          ...problem,
          items: problem.items.toReversed(),
          slots: problem.slots.toReversed(),
          links: problem.links.toReversed(),
        };
        expect(solve(mirrored).assignments).toEqual(solve(problem).assignments);
      }),
      { numRuns },
    );
  });

  test('loses no solution when an item goes', () => {
    fc.assert(
      fc.property(problems(6, 3), fc.nat(), (problem, choice) => {
        const name = problem.items[choice % problem.items.length]?.name ?? '';
        if (solve(problem).feasible) expect(solve(without(problem, name)).feasible).toBe(true);
      }),
      { numRuns },
    );
  });

  test('keeps every slot within its memory, and names a reason for every place that an item did not get', () => {
    fc.assert(
      fc.property(problems(8, 4), (problem) => {
        const solution = solve(problem);
        for (const slot of problem.slots) {
          const tenants = solution.assignments.filter(({ slots }) => slots.includes(slot.name));
          const share = tenants.length > 1 ? headroom.shared : headroom.exclusive;
          expect(tenants.reduce((sum, { bytes }) => sum + bytes, 0)).toBeLessThanOrEqual(slot.usableBytes * (1 - share));
          if (!slot.healthy) expect(tenants).toEqual([]);
        }
        expect(solution.assignments.length + solution.unplaced.length).toBe(problem.items.length);
        for (const item of solution.unplaced)
          for (const slot of problem.slots)
            expect(solution.rejections.some((why) => why.item === item && why.slot === slot.name)).toBe(true);
        for (const { shortByBytes, reason } of solution.rejections)
          if (reason === 'NotEnoughMemory') expect(shortByBytes).toBeGreaterThan(0);
      }),
      { numRuns },
    );
  });

  test('moves nothing unless it gains more than the move costs', () => {
    fc.assert(
      fc.property(problems(6, 3), (problem) => {
        const first = solve({ ...problem, current: new Map() }, { maxSteps: 1_000_000 });
        if (!first.feasible) return;
        const again = solve({ ...problem, current: placementOf(first) }, { maxSteps: 1_000_000 });
        expect(again.assignments).toEqual(first.assignments);
        // From any other start: what it costs without moves is better than staying by more than the moves.
        const moved = solve(problem, { maxSteps: 1_000_000 });
        expect(moved.score.total - weights.migration * moved.score.migration).toBeGreaterThanOrEqual(first.score.total - 1e-6);
      }),
      { numRuns },
    );
  });
});
