import { mkdtemp, rm } from 'node:fs/promises';
import { tmpdir } from 'node:os';
import { join } from 'node:path';
import { afterEach, beforeEach, expect, it } from 'vitest';
import { Turns } from './turns.ts';

let parent: string;
beforeEach(async () => {
  parent = await mkdtemp(join(tmpdir(), 'agentfleet-turns-'));
});
afterEach(() => rm(parent, { recursive: true, force: true }));

it('admits none beside one that is alone, whatever the order', async () => {
  let [beside, alone, most] = [0, 0, 0];
  const faults: string[] = [];
  const file = async (isAlone: boolean): Promise<void> => {
    const turns = new Turns('run', parent);
    const end = await (isAlone ? turns.alone() : turns.beside());
    if (isAlone) alone += 1;
    else beside += 1;
    if (alone > 1 || (alone > 0 && beside > 0)) faults.push(`${alone} alone, ${beside} beside`);
    most = Math.max(most, beside);
    await new Promise((resolve) => setTimeout(resolve, 20));
    if (isAlone) alone -= 1;
    else beside -= 1;
    await end();
  };
  await Promise.all([false, false, true, false, true, false, false].map(file));
  expect(faults).toEqual([]);
  expect(most).toBeGreaterThan(1);
});
