import { rolloutReport, type RolloutReport } from '../../../src/revisions/index.ts';
import { ResourceClient } from '@agentfleet/kube';
import type { ExpertPool } from '@agentfleet/protocol/api';
import { expect } from 'vitest';
import { newTask } from '../../../src/controllers/agenttask/testing/objects.ts';
import { fails, obedient, playWorkers, succeeds } from '../../../src/controllers/agenttask/testing/scriptedWorker.ts';
import { Rollouts } from '../../../src/controllers/expertpool/testing/rollouts.ts';
import { resources } from '../../../src/runtime/resources.ts';
import type { Scenario } from '../scenario.ts';
import type { World } from '../world.ts';
import { patchPool } from './steps.ts';

const expert = (domains: readonly string[]): object => ({
  name: 'gen',
  role: 'Generalist',
  domains,
  engine: { type: 'Synth' },
  replicas: 1,
});

const rollout = (min: string): object => ({
  strategy: 'Canary',
  steps: [{ weight: 100, minSamples: 2, pauseSeconds: 0 }],
  gates: [{ name: 'undone', metric: 'RollbackSuccess', atLeast: min, minSamples: 2 }],
  minSamples: 2,
  drainSeconds: 5,
});

const pool = (world: World): ExpertPool | undefined => world.server.objects(resources.expertPools)[0];
const rolloutOf = (world: World): RolloutReport | undefined => rolloutReport(pool(world)?.status);

interface Book {
  readonly rollout: string;
  readonly arms: Readonly<Record<string, { readonly tasks: object; readonly rollbacks: object; readonly excluded: number }>>;
}

function bookOf(world: World): Book {
  const map = world.server.objects(resources.configMaps).find(({ metadata }) => metadata.name === 'coding-pool-rollout');
  return JSON.parse(map?.data?.['counts.json'] ?? '{"rollout":"","arms":{}}') as Book;
}

/** Revisions that tasks worked with, by the names of the tasks. */
const worked = (world: World): Readonly<Record<string, string | undefined>> =>
  Object.fromEntries(
    world.server.objects(resources.agentTasks).map(({ metadata, status }) => [metadata.name, status?.assignment?.revision]),
  );

async function serving(world: World): Promise<void> {
  Rollouts.join(world);
  await world.until('a revision serves', () => rolloutOf(world)?.stable !== undefined);
}

/** Asks for another revision, and gives it tasks when it is tried. */
async function tried(world: World, verified: boolean): Promise<void> {
  const script = obedient((assignment, task) => (task.metadata.name === 'good' ? succeeds(assignment, task) : fails()));
  playWorkers(world, (assignment, task) => {
    const report = script(assignment, task);
    return report?.rollback === undefined ? report : { ...report, rollback: { snapshot: 's0001', verified } };
  });
  await patchPool(world, { experts: [expert(['python'])] });
  await world.until('it is tried', () => rolloutOf(world)?.weight === 100);
  const spec = { attempts: { max: 1 } };
  for (const name of ['one', 'two']) await world.create(newTask(name, spec));
  for (const name of ['one', 'two']) await world.until(`${name} has ended`, () => world.task(name).status?.finished === 'true');
  await world.until('it is decided', () => rolloutOf(world)?.weight === 0);
}

async function settled(world: World): Promise<void> {
  const deployments = (): readonly string[] => world.server.objects(resources.deployments).map(({ metadata }) => metadata.name);
  await world.until('one revision is left', () => deployments().filter((name) => name.startsWith('coding-expert-')).length === 1);
}

/** Rollouts: each task is counted once, whatever happens to the operator. */
export const rollouts: readonly Scenario[] = [
  {
    name: 'a revision is tried, and promoted',
    crew: 'all',
    pool: { rollout: rollout('0.4'), experts: [expert(['*'])] },
    prepare: serving,
    act: async (world) => {
      await tried(world, true);
      await settled(world);
    },
    ends: (world) => {
      const { stable = '', samples, reason, lastGreen } = rolloutOf(world) ?? {};
      expect({ samples, reason }).toEqual({ samples: 2, reason: 'Promoted' });
      expect(lastGreen).toHaveLength(1);
      expect(worked(world)).toEqual({ one: stable, two: stable });
      expect(bookOf(world).arms[stable]).toMatchObject({
        tasks: { passed: 0, total: 2 },
        rollbacks: { verified: 2, total: 2 },
        excluded: 0,
      });
    },
  },
  {
    name: 'a revision is tried, and rolled back',
    crew: 'all',
    pool: { rollout: { ...rollout('0.9'), rollback: { freezeAfterFailures: 1 } }, experts: [expert(['*'])] },
    prepare: serving,
    act: async (world) => {
      await tried(world, false);
      await new ResourceClient(world.transport, resources.agentTasks).create(newTask('good'));
      await world.until('it has ended', () => world.task('good').status?.finished === 'true');
      await settled(world);
      await world.until('its counts are reported', () => pool(world)?.status?.running === 0);
    },
    ends: (world) => {
      const { stable, canary = '', phase } = rolloutOf(world) ?? {};
      expect(phase).toBe('Frozen');
      expect(worked(world)).toEqual({ one: canary, two: canary, good: stable });
      expect(bookOf(world).arms).toMatchObject({ [canary]: { tasks: { passed: 0, total: 2 }, rollbacks: { verified: 0, total: 2 } } });
    },
  },
];
