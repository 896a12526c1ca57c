import { rolloutReport, type RolloutReport } from '../../../src/revisions/index.ts';
import { ResourceClient } from '@agentfleet/kube';
import type { EnergyModel } from '@agentfleet/protocol/api';
import { expect } from 'vitest';
import { newTask } from '../../../src/controllers/agenttask/testing/objects.ts';
import { fails, obedient, playWorkers, succeeds, usage } from '../../../src/controllers/agenttask/testing/scriptedWorker.ts';
import { verifiers } from '../../../src/controllers/energymodel/testing/calibrated.ts';
import { newModel } from '../../../src/controllers/energymodel/testing/models.ts';
import { Rollouts } from '../../../src/controllers/expertpool/testing/rollouts.ts';
import { ruled } from '../../../src/revisions/testing/policies.ts';
import { resources } from '../../../src/runtime/resources.ts';
import type { Scenario } from '../scenario.ts';
import type { World } from '../world.ts';

const rollout = (min: string): object => ({
  strategy: 'Canary',
  steps: [{ weight: 100, minSamples: 2, pauseSeconds: 0 }],
  gates: [
    { name: 'undone', metric: 'RollbackSuccess', atLeast: min, minSamples: 2 },
    { name: 'auc', metric: 'AUC', atLeast: '0.8' },
  ],
  minSamples: 2,
  drainSeconds: 5,
  rollback: { freezeAfterFailures: 1 },
});

const pool = { energyModelRef: { name: 'judge' } };

const model = (world: World): EnergyModel | undefined => world.server.objects(resources.energyModels)[0];
const rolloutOf = (world: World): RolloutReport | undefined => rolloutReport(model(world)?.status);

const prepare =
  (min: string) =>
  async (world: World): Promise<void> => {
    Rollouts.join(world);
    world.ask = verifiers(world.server, { 'features-v1': { auc: 0.9 }, 'features-v2': { auc: 0.91 } });
    const models = new ResourceClient<EnergyModel>(world.transport, resources.energyModels);
    await models.create(newModel(await ruled(world.transport, 'judge', { rollout: rollout(min), calibration: {} })));
    await world.until('a revision serves', () => rolloutOf(world)?.stable !== undefined);
    await world.until('it is calibrated', () => model(world)?.status?.calibration !== undefined);
  };

/** Asks for another artifact, and gives it tasks to judge when it is tried. */
async function tried(world: World, verified: boolean): Promise<void> {
  const script = obedient((assignment, task) => (task.metadata.name === 'good' ? succeeds(assignment, task) : fails()));
  playWorkers(world, (assignment, task) => {
    const report = script(assignment, task);
    if (report === undefined) return undefined;
    const whole = { ...report, usage: { ...usage, vetoes: 2 }, signals: { pSuccess: '0.3' } };
    return report.rollback === undefined ? whole : { ...whole, rollback: { snapshot: 's0001', verified } };
  });
  const models = new ResourceClient<EnergyModel>(world.transport, resources.energyModels);
  await models.patch({ namespace: 'platform', name: 'judge' }, { spec: { artifact: { uri: 'builtin://features-v2' } } });
  await world.until('it is tried', () => rolloutOf(world)?.weight === 100);
  for (const name of ['one', 'two']) await world.create(newTask(name, { attempts: { max: 1 } }));
  for (const name of ['one', 'two']) await world.until(`${name} has ended`, () => world.task(name).status?.finished === 'true');
  await world.until('it is decided', () => rolloutOf(world)?.weight === 0);
}

async function settled(world: World): Promise<void> {
  const deployments = (): readonly string[] => world.server.objects(resources.deployments).map(({ metadata }) => metadata.name);
  await world.until('one revision is left', () => deployments().filter((name) => name.startsWith('judge-verifier')).length === 1);
  const { stable = '' } = rolloutOf(world) ?? {};
  await world.until(
    'it serves',
    () => model(world)?.status?.arms?.[0]?.endpoint.includes(stable) === true && (model(world)?.status?.ready ?? 0) > 0,
  );
}

const judgedBy = (world: World): Readonly<Record<string, string | undefined>> =>
  Object.fromEntries(
    world.server.objects(resources.agentTasks).map(({ metadata, status }) => [metadata.name, status?.assignment?.verifierRevision]),
  );

function armsOf(world: World): Readonly<Record<string, object>> {
  const map = world.server.objects(resources.configMaps).find(({ metadata }) => metadata.name === 'judge-model-rollout');
  return (JSON.parse(map?.data?.['counts.json'] ?? '{"arms":{}}') as { readonly arms: Readonly<Record<string, object>> }).arms;
}

/** Rollouts of models: each task is counted once, for the verifier that judged it. */
export const modelRollouts: readonly Scenario[] = [
  {
    name: 'a revision of a model is tried, and promoted',
    crew: 'all',
    pool,
    prepare: prepare('0.4'),
    act: async (world) => {
      await tried(world, true);
      await settled(world);
    },
    ends: (world) => {
      const { stable = '', samples, reason, lastGreen } = rolloutOf(world) ?? {};
      expect({ samples, reason }).toEqual({ samples: 2, reason: 'Promoted' });
      expect(lastGreen).toHaveLength(1);
      expect(judgedBy(world)).toEqual({ one: stable, two: stable });
      expect(armsOf(world)).toMatchObject({
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
    crew: 'all',
    pool,
    prepare: prepare('0.9'),
    act: async (world) => {
      await tried(world, false);
      await new ResourceClient(world.transport, resources.agentTasks).create(newTask('good'));
      await world.until('it has ended', () => world.task('good').status?.finished === 'true');
      await settled(world);
      await world.until('its counts are reported', () => world.server.objects(resources.expertPools)[0]?.status?.running === 0);
    },
    ends: (world) => {
      const { stable, canary = '', phase } = rolloutOf(world) ?? {};
      expect(phase).toBe('Frozen');
      expect(judgedBy(world)).toEqual({ one: canary, two: canary, good: stable });
      expect(armsOf(world)).toMatchObject({
        [canary]: { tasks: { passed: 0, total: 2 }, rollbacks: { verified: 0, total: 2 }, passedActs: { missed: 2, total: 2 } },
      });
    },
  },
];
