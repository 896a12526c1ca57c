import type { EnergyModel, ExpertPool } from '@agentfleet/protocol/api';
import { expect } from 'vitest';
import { newTask } from '../../../src/controllers/agenttask/testing/objects.ts';
import { fails, obedient, succeeds } from '../../../src/controllers/agenttask/testing/scriptedWorker.ts';
import { verifiers } from '../../../src/controllers/energymodel/testing/calibrated.ts';
import { newModel } from '../../../src/controllers/energymodel/testing/models.ts';
import { Rollouts } from '../../../src/controllers/expertpool/testing/rollouts.ts';
import { rolloutReport, type RolloutReport } from '../../../src/revisions/index.ts';
import { ruled } from '../../../src/revisions/testing/policies.ts';
import { resources } from '../../../src/runtime/resources.ts';
import type { World } from '../world.ts';
import { finished, modelClient, models, pools } from './steps.ts';

/** A pool whose tasks the model judges. */
export const judgedPool = { energyModelRef: { name: 'judge' } };

/** The expert of a pool, with the defaults of the API server. */
export const expert = (...domains: readonly string[]): object => ({
  name: 'gen',
  role: 'Generalist',
  domains,
  engine: { type: 'Synth' },
  replicas: 1,
});

/** Tries a revision with all new tasks, two of which decide; `gates` beside that of what is undone. */
export const canaryRollout = (undone: string, ...gates: readonly object[]) => ({
  strategy: 'Canary',
  steps: [{ weight: 100, minSamples: 2, pauseSeconds: 0 }],
  gates: [{ name: 'undone', metric: 'RollbackSuccess', atLeast: undone, minSamples: 2 }, ...gates],
  minSamples: 2,
  drainSeconds: 5,
});

export const poolRollout = (world: World): RolloutReport | undefined => rolloutReport(pools(world)[0]?.status);
export const modelRollout = (world: World): RolloutReport | undefined => rolloutReport(models(world)[0]?.status);

type Owner = ExpertPool | EnergyModel;

/** Waits until a revision serves. */
export const serves = (world: World, owners: (world: World) => readonly Owner[]): Promise<void> =>
  world.until('a revision serves', () => owners(world)[0]?.status?.rollout?.stable !== undefined);

/** A pool with a revision that serves, before anything counts. */
export async function poolServes(world: World): Promise<void> {
  Rollouts.join(world);
  await serves(world, pools);
}

/** A model with a revision that serves and is calibrated, before anything counts. */
export async function modelServes(world: World, rollout: object): Promise<void> {
  Rollouts.join(world);
  world.ask = verifiers(world.server, { 'features-v1': { auc: 0.9 }, 'features-v2': { auc: 0.91 } });
  await modelClient(world).create(newModel(await ruled(world.transport, 'judge', { rollout, calibration: {} })));
  await serves(world, models);
  await world.until('it is calibrated', () => models(world)[0]?.status?.calibration !== undefined);
}

/** Asks for another revision of the model. */
export const otherArtifact = (world: World): Promise<EnergyModel> =>
  modelClient(world).patch({ namespace: 'platform', name: 'judge' }, { spec: { artifact: { uri: 'builtin://features-v2' } } });

/** Tasks whose name begins so succeed, all others fail. */
export const succeedsIf = (prefix: string) =>
  obedient((assignment, task) => (task.metadata.name.startsWith(prefix) ? succeeds(assignment, task) : fails()));

/** Runs tasks that are tried once to their end. */
export async function ended(world: World, ...names: readonly string[]): Promise<void> {
  for (const name of names) await world.create(newTask(name, { attempts: { max: 1 } }));
  await finished(world, ...names);
}

/** Gives a revision that is tried two tasks, which decide about it. */
export async function decided(world: World, rolloutOf: (world: World) => RolloutReport | undefined): Promise<void> {
  await world.until('it is tried', () => rolloutOf(world)?.weight === 100);
  await ended(world, 'one', 'two');
  await world.until('it is decided', () => rolloutOf(world)?.weight === 0);
}

/** Waits until the servers of one revision are left; their names begin so. */
export async function oneLeft(world: World, prefix: 'coding-expert-' | 'judge-verifier'): Promise<void> {
  const servers = (): number =>
    world.server.objects(resources.deployments).filter(({ metadata }) => metadata.name.startsWith(prefix)).length;
  await world.until('one revision is left', () => servers() === 1);
}

/** Waits until one revision of the model is left, and serves. */
export async function modelSettled(world: World): Promise<void> {
  await oneLeft(world, 'judge-verifier');
  const { stable = '' } = modelRollout(world) ?? {};
  await world.until('it serves', () => {
    const status = models(world)[0]?.status;
    return status?.arms?.[0]?.endpoint.includes(stable) === true && (status.ready ?? 0) > 0;
  });
}

/** Waits until the status of the pool counts no task. */
export const counted = (world: World): Promise<void> =>
  world.until('its counts are reported', () => pools(world)[0]?.status?.running === 0);

/** Revisions that tasks worked with, or that judged them, by the names of the tasks. */
export const assigned = (world: World, arm: 'revision' | 'verifierRevision'): Readonly<Record<string, string | undefined>> =>
  Object.fromEntries(world.server.objects(resources.agentTasks).map(({ metadata, status }) => [metadata.name, status?.assignment?.[arm]]));

/** Returns the value of a ConfigMap under a key, parsed from JSON. */
export function bookIn<T>(world: World, name: string, key: string, absent: T): T {
  const text = world.server.objects(resources.configMaps).find(({ metadata }) => metadata.name === name)?.data?.[key];
  return text === undefined ? absent : (JSON.parse(text) as T);
}

/** Returns the counts of the arms of a rollout. */
export const armsIn = (world: World, name: 'coding-pool-rollout' | 'judge-model-rollout'): Readonly<Record<string, object>> =>
  bookIn<{ readonly arms: Readonly<Record<string, object>> }>(world, name, 'counts.json', { arms: {} }).arms;

/** Expects that a revision was promoted after two samples; returns the one that serves, and the one before. */
export function expectPromoted(report: RolloutReport | undefined): { readonly stable: string; readonly before: string | undefined } {
  const { stable = '', samples, reason, lastGreen = [] } = report ?? {};
  expect({ samples, reason }).toEqual({ samples: 2, reason: 'Promoted' });
  expect(lastGreen).toHaveLength(1);
  return { stable, before: lastGreen[0] };
}
