// The turnstile's rules under random schedules, in virtual time: by seeds, so that what failed once fails again.
import { env } from 'node:process';
import { describe, expect, test } from 'vitest';
import { faults, World, type Fault } from './testing/world.ts';

const minute = 60_000;
const seeds = (count: number): readonly number[] =>
  Array.from({ length: env['AGENTFLEET_FULL'] === '1' ? count * 20 : count }, (_, seed) => seed + 1);

describe('engines with room for one', () => {
  test('take turns without a fault: all are answered, within a round, or two where one gave up just before its turn', () => {
    for (const seed of seeds(10)) {
      const world = new World({ seed, members: 4, everyMs: 300, faults: [], faultEveryMs: 0 });
      const outcome = world.run(minute, 4 * minute, minute);
      expect({ seed, ...outcome }).toMatchObject({ violations: [], answered: outcome.asked });
      expect(outcome.mostTurnsWaited, `seed ${seed}`).toBeLessThanOrEqual(8);
      expect(outcome.turns, `seed ${seed}`).toBeGreaterThan(40);
    }
  });

  test.each(faults.map((fault) => [fault]))('never share it when a fault of one kind comes: %s', (fault: Fault) => {
    for (const seed of seeds(6)) {
      const world = new World({ seed, members: 3, everyMs: 400, faults: [fault], faultEveryMs: 4_000 });
      const outcome = world.run(3 * minute, 3 * minute, 2 * minute);
      expect({ seed, fault, ...outcome }).toMatchObject({ violations: [], answered: outcome.asked });
    }
  });

  test('never share it when all faults come at once, and all are answered when they stop', () => {
    for (const seed of seeds(20)) {
      const world = new World({ seed, members: 4, everyMs: 400, faults, faultEveryMs: 3_000 });
      const outcome = world.run(3 * minute, 3 * minute, 3 * minute);
      expect({ seed, ...outcome }).toMatchObject({ violations: [], answered: outcome.asked });
    }
  });
});
