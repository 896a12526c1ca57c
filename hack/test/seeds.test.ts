import { expect, test } from 'vitest';
import { runSeeds } from './seeds.ts';

function world(fails: readonly number[], minutesEach: number) {
  const seeds: number[] = [];
  const said: string[] = [];
  return {
    seeds,
    said,
    now: () => seeds.length * minutesEach * 60_000,
    run: (seed: number): Promise<boolean> => {
      seeds.push(seed);
      return Promise.resolve(!fails.includes(seed));
    },
    say: (line: string): void => void said.push(line),
  };
}

test('each round has a seed of its own, until the time is over', async () => {
  const it = world([], 4);
  expect(await runSeeds(7, 10, it)).toEqual({ rounds: 3, failed: [] });
  expect(it.seeds).toEqual([7, 8, 9]);
});

test('a failure is reported with its seed, and the others continue', async () => {
  const it = world([8], 4);
  expect(await runSeeds(7, 10, it)).toEqual({ rounds: 3, failed: [8] });
  expect(it.said).toEqual(['AGENTFLEET_SEED=8 fails', '3 rounds from seed 7, 1 failed: 8']);
});

test('there is at least one round, and no seed beyond the range of properties', async () => {
  const it = world([], 4);
  await runSeeds(2 ** 31 - 1, 0, it);
  expect(it.seeds).toEqual([0]);
});
