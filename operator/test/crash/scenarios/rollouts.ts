import { expect } from 'vitest';
import { newTask } from '../../../src/controllers/agenttask/testing/objects.ts';
import { playWorkers } from '../../../src/controllers/agenttask/testing/scriptedWorker.ts';
import type { Scenario } from '../scenario.ts';
import type { World } from '../world.ts';
import {
  armsIn,
  assigned,
  canaryRollout,
  counted,
  decided,
  expectPromoted,
  expert,
  oneLeft,
  poolRollout,
  poolServes,
  succeedsIf,
} from './revisions.ts';
import { finished, patchPool } from './steps.ts';

/** Asks for another revision, and gives it tasks when it is tried. */
async function tried(world: World, verified: boolean): Promise<void> {
  const script = succeedsIf('good');
  playWorkers(world, (assignment, task) => {
    const report = script(assignment, task);
    return report?.rollback === undefined ? report : { ...report, rollback: { snapshot: 's0001', verified } };
  });
  await patchPool(world, { experts: [expert('python')] });
  await decided(world, poolRollout);
}

/** Rollouts: each task is counted once, whatever happens to the operator. */
export const rollouts: readonly Scenario[] = [
  {
    name: 'a revision is tried, and promoted',
    controllerSet: 'all',
    pool: { rollout: canaryRollout('0.4'), experts: [expert('*')] },
    prepare: poolServes,
    act: async (world) => {
      await tried(world, true);
      await oneLeft(world, 'coding-expert-');
    },
    ends: (world) => {
      const { stable } = expectPromoted(poolRollout(world));
      expect(assigned(world, 'revision')).toEqual({ one: stable, two: stable });
      expect(armsIn(world, 'coding-pool-rollout')[stable]).toMatchObject({
        tasks: { passed: 0, total: 2 },
        rollbacks: { verified: 2, total: 2 },
        excluded: 0,
      });
    },
  },
  {
    name: 'a revision is tried, and rolled back',
    controllerSet: 'all',
    pool: { rollout: { ...canaryRollout('0.9'), rollback: { freezeAfterFailures: 1 } }, experts: [expert('*')] },
    prepare: poolServes,
    act: async (world) => {
      await tried(world, false);
      await world.create(newTask('good'));
      await finished(world, 'good');
      await oneLeft(world, 'coding-expert-');
      await counted(world);
    },
    ends: (world) => {
      const { stable, canary = '', phase } = poolRollout(world) ?? {};
      expect(phase).toBe('Frozen');
      expect(assigned(world, 'revision')).toEqual({ one: canary, two: canary, good: stable });
      expect(armsIn(world, 'coding-pool-rollout')).toMatchObject({
        [canary]: { tasks: { passed: 0, total: 2 }, rollbacks: { verified: 0, total: 2 } },
      });
    },
  },
];
