import { expect } from 'vitest';
import { newTask } from '../../../src/controllers/agenttask/testing/objects.ts';
import { playWorkers, usage } from '../../../src/controllers/agenttask/testing/scriptedWorker.ts';
import type { Scenario } from '../scenario.ts';
import type { World } from '../world.ts';
import {
  armsIn,
  assigned,
  canaryRollout,
  counted,
  decided,
  expectPromoted,
  judgedPool,
  modelRollout,
  modelServes,
  modelSettled,
  otherArtifact,
  succeedsIf,
} from './revisions.ts';
import { finished } from './steps.ts';

const prepare =
  (undone: string) =>
  (world: World): Promise<void> =>
    modelServes(world, { ...canaryRollout(undone, { name: 'auc', metric: 'AUC', atLeast: '0.8' }), rollback: { freezeAfterFailures: 1 } });

/** Asks for another artifact, and gives it tasks to judge when it is tried. */
async function tried(world: World, verified: boolean): Promise<void> {
  const script = succeedsIf('good');
  playWorkers(world, (assignment, task) => {
    const report = script(assignment, task);
    if (report === undefined) return undefined;
    const whole = { ...report, usage: { ...usage, vetoes: 2 }, signals: { pSuccess: '0.3' } };
    return report.rollback === undefined ? whole : { ...whole, rollback: { snapshot: 's0001', verified } };
  });
  await otherArtifact(world);
  await decided(world, modelRollout);
}

/** Rollouts of models: each task is counted once, for the verifier that judged it. */
export const modelRollouts: readonly Scenario[] = [
  {
    name: 'a revision of a model is tried, and promoted',
    controllerSet: 'all',
    pool: judgedPool,
    prepare: prepare('0.4'),
    act: async (world) => {
      await tried(world, true);
      await modelSettled(world);
    },
    ends: (world) => {
      const { stable } = expectPromoted(modelRollout(world));
      expect(assigned(world, 'verifierRevision')).toEqual({ one: stable, two: stable });
      expect(armsIn(world, 'judge-model-rollout')).toMatchObject({
        [stable]: {
          tasks: { passed: 0, total: 2 },
          rollbacks: { verified: 2, total: 2 },
          passedActs: { missed: 2, total: 2 },
          scores: [0, 0, 0, 0, 2, 0, 0, 0, 0, 0],
          excluded: 0,
        },
      });
    },
  },
  {
    name: 'a revision of a model is tried, and rolled back',
    controllerSet: 'all',
    pool: judgedPool,
    prepare: prepare('0.9'),
    act: async (world) => {
      await tried(world, false);
      await world.create(newTask('good'));
      await finished(world, 'good');
      await modelSettled(world);
      await counted(world);
    },
    ends: (world) => {
      const { stable, canary = '', phase } = modelRollout(world) ?? {};
      expect(phase).toBe('Frozen');
      expect(assigned(world, 'verifierRevision')).toEqual({ one: canary, two: canary, good: stable });
      expect(armsIn(world, 'judge-model-rollout')).toMatchObject({
        [canary]: { tasks: { passed: 0, total: 2 }, rollbacks: { verified: 0, total: 2 }, passedActs: { missed: 2, total: 2 } },
      });
    },
  },
];
