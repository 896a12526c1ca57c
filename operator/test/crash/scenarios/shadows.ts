import { rolloutReport, type RolloutReport } from '../../../src/revisions/index.ts';
import { ResourceClient } from '@agentfleet/kube';
import type { Assignment, EnergyModel, ExpertPool, ShadowReport } from '@agentfleet/protocol/api';
import { briefKey, type PoolBrief } from '@agentfleet/protocol/pool';
import { expect } from 'vitest';
import { newTask } from '../../../src/controllers/agenttask/testing/objects.ts';
import { fails, obedient, playWorkers, succeeds } from '../../../src/controllers/agenttask/testing/scriptedWorker.ts';
import { verifiers } from '../../../src/controllers/energymodel/testing/calibrated.ts';
import { newModel } from '../../../src/controllers/energymodel/testing/models.ts';
import { Rollouts } from '../../../src/controllers/expertpool/testing/rollouts.ts';
import { noShadow, type ShadowTallies } from '../../../src/revisions/index.ts';
import { ruled } from '../../../src/revisions/testing/policies.ts';
import { resources } from '../../../src/runtime/resources.ts';
import type { Scenario } from '../scenario.ts';
import type { World } from '../world.ts';
import { patchPool } from './steps.ts';

const rollout = {
  strategy: 'ShadowThenCanary',
  shadow: { seconds: 1, minSamples: 40 },
  steps: [{ weight: 100, minSamples: 2, pauseSeconds: 0 }],
  gates: [
    { name: 'kappa', metric: 'Agreement', minSamples: 60 },
    { name: 'undone', metric: 'RollbackSuccess', atLeast: '0.4', minSamples: 2 },
  ],
  minSamples: 2,
  drainSeconds: 5,
  rollback: { freezeAfterFailures: 1 },
};
const pool = { energyModelRef: { name: 'judge' } };

const model = (world: World): EnergyModel | undefined => world.server.objects(resources.energyModels)[0];
const rolloutOf = (world: World): RolloutReport | undefined => rolloutReport(model(world)?.status);

/** Acts of one task, by who refuses them. */
type Acts = Pick<ShadowReport, 'bothVetoed' | 'onlyStableVetoed' | 'onlyShadowVetoed' | 'neitherVetoed'>;

const agreeing: Acts = { bothVetoed: 10, onlyStableVetoed: 0, onlyShadowVetoed: 0, neitherVetoed: 20 };
const refusing: Acts = { bothVetoed: 10, onlyStableVetoed: 0, onlyShadowVetoed: 20, neitherVetoed: 0 };

function reportOf({ shadow = '' }: Assignment, acts: Acts): { readonly shadow?: ShadowReport } {
  if (shadow === '') return {};
  const counts = { answered: 30, failed: 2, dropped: 1, candidates: 0, sameCandidates: 0 };
  const bins = { stableBins: [10, 0, 0, 0, 0, 0, 0, 0, 0, 20], shadowBins: [10, 0, 0, 0, 0, 0, 0, 0, 20, 0] };
  return { shadow: { rollout: shadow, ...counts, ...bins, ...acts } };
}

async function serving(world: World): Promise<void> {
  Rollouts.join(world);
  world.ask = verifiers(world.server, { 'features-v1': { auc: 0.9 }, 'features-v2': { auc: 0.91 } });
  const models = new ResourceClient<EnergyModel>(world.transport, resources.energyModels);
  await models.create(newModel(await ruled(world.transport, 'judge', { rollout, calibration: {} })));
  await world.until('a revision serves', () => rolloutOf(world)?.stable !== undefined);
  await world.until('it is calibrated', () => model(world)?.status?.calibration !== undefined);
}

function briefOf(world: World): PoolBrief {
  const map = world.server.objects(resources.configMaps).find(({ metadata }) => metadata.name === 'coding-workers');
  return JSON.parse(map?.data?.[briefKey] ?? '{}') as PoolBrief;
}

/** Asks for another artifact, and gives it copies of what two tasks are asked. */
async function shadowed(world: World, acts: Acts): Promise<void> {
  const script = obedient((assignment, task) => ({
    ...(task.metadata.name.startsWith('dark') ? succeeds(assignment, task) : fails()),
    ...reportOf(assignment, acts),
  }));
  playWorkers(world, script);
  const models = new ResourceClient<EnergyModel>(world.transport, resources.energyModels);
  await models.patch({ namespace: 'platform', name: 'judge' }, { spec: { artifact: { uri: 'builtin://features-v2' } } });
  await world.until('it is in shadow', () => rolloutOf(world)?.phase === 'Shadowing');
  await world.until('workers know it', () => briefOf(world).shadow?.rollout === rolloutOf(world)?.id);
  await ended(world, ['dark-1', 'dark-2']);
}

async function ended(world: World, names: readonly string[]): Promise<void> {
  for (const name of names) await world.create(newTask(name, { attempts: { max: 1 } }));
  for (const name of names) await world.until(`${name} has ended`, () => world.task(name).status?.finished === 'true');
}

async function settled(world: World): Promise<void> {
  const deployments = (): readonly string[] => world.server.objects(resources.deployments).map(({ metadata }) => metadata.name);
  await world.until('one revision is left', () => deployments().filter((name) => name.startsWith('judge-verifier')).length === 1);
  const { stable = '' } = rolloutOf(world) ?? {};
  const modelStatus = (): EnergyModel['status'] => model(world)?.status;
  await world.until('it serves', () => modelStatus()?.arms?.[0]?.endpoint.includes(stable) === true && (modelStatus()?.ready ?? 0) > 0);
  await world.until('nobody is in shadow', () => briefOf(world).shadow === undefined);
  const words = (): readonly string[] => modelStatus()?.conditions?.map(({ type }) => type) ?? [];
  await world.until('nothing is said of a shadow', () => !words().includes('ShadowHealthy'));
  await world.until('its counts are reported', () => world.server.objects(resources.expertPools)[0]?.status?.running === 0);
}

interface Book {
  readonly arms: Readonly<Record<string, object>>;
  readonly shadow: ShadowTallies;
}

function bookOf(world: World, name = 'judge-model-rollout'): Book {
  const map = world.server.objects(resources.configMaps).find(({ metadata }) => metadata.name === name);
  return { arms: {}, shadow: noShadow, ...(JSON.parse(map?.data?.['counts.json'] ?? '{}') as Partial<Book>) };
}

const judgedBy = (world: World): Readonly<Record<string, string | undefined>> =>
  Object.fromEntries(
    world.server.objects(resources.agentTasks).map(({ metadata, status }) => [metadata.name, status?.assignment?.verifierRevision]),
  );

const expert = (domains: readonly string[]): object => ({
  name: 'gen',
  role: 'Generalist',
  domains,
  engine: { type: 'Synth' },
  replicas: 1,
});
const dark = (world: World): ExpertPool['status'] => world.server.objects(resources.expertPools)[0]?.status;

async function shadowedPool(world: World): Promise<void> {
  const script = obedient((assignment, task) => ({
    ...(task.metadata.name.startsWith('dark') ? succeeds(assignment, task) : fails()),
    ...reportOf(assignment, agreeing),
  }));
  playWorkers(world, script);
  await patchPool(world, { experts: [expert(['python'])] });
  await world.until(
    'workers know it',
    () => briefOf(world).shadow !== undefined && briefOf(world).shadow?.rollout === dark(world)?.rollout?.id,
  );
  expect(briefOf(world).shadow).toMatchObject({ experts: [{ name: 'gen' }], verifier: null, maxInFlight: 4 });
  await world.until('it is said', () => dark(world)?.conditions?.some(({ type }) => type === 'ShadowHealthy') === true);
  await ended(world, ['dark-1', 'dark-2']);
  await world.until('it is tried', () => dark(world)?.rollout?.weight === 100);
  await ended(world, ['one', 'two']);
  await world.until('it is decided', () => dark(world)?.rollout?.weight === 0);
  const deployments = (): readonly string[] => world.server.objects(resources.deployments).map(({ metadata }) => metadata.name);
  await world.until('one revision is left', () => deployments().filter((name) => name.startsWith('coding-expert-')).length === 1);
  await world.until('nobody else is reported', () => briefOf(world).shadow === undefined && briefOf(world).arms?.length === 1);
  await world.until('its counts are reported', () => dark(world)?.running === 0);
}

/** Shadows: what copies say is counted once, for no arm, and no task is judged by a revision that they speak against. */
export const shadows: readonly Scenario[] = [
  {
    name: 'a verifier that agrees in shadow is tried, and promoted',
    crew: 'all',
    pool,
    prepare: serving,
    act: async (world) => {
      await shadowed(world, agreeing);
      await world.until('it is tried', () => rolloutOf(world)?.weight === 100);
      await ended(world, ['one', 'two']);
      await world.until('it is decided', () => rolloutOf(world)?.weight === 0);
      await settled(world);
    },
    ends: (world) => {
      const { stable = '', samples, reason, lastGreen = [] } = rolloutOf(world) ?? {};
      expect({ samples, reason }).toEqual({ samples: 2, reason: 'Promoted' });
      const [before] = lastGreen;
      expect(judgedBy(world)).toEqual({ 'dark-1': before, 'dark-2': before, one: stable, two: stable });
      const { arms, shadow } = bookOf(world);
      expect(Object.keys(arms)).toEqual([stable]);
      expect(arms[stable]).toMatchObject({ tasks: { passed: 0, total: 2 } });
      expect(shadow).toMatchObject({ tasks: 2, copies: { answered: 60, failed: 4 }, acts: { both: 20, neither: 40 } });
      expect(shadow.ofSucceeded).toEqual(shadow.acts);
      expect(shadow.scores).toEqual({ stable: [20, 0, 0, 0, 0, 0, 0, 0, 0, 40], shadow: [20, 0, 0, 0, 0, 0, 0, 0, 40, 0] });
    },
  },
  {
    name: 'experts that answer in shadow are tried, and promoted',
    crew: 'all',
    pool: { rollout: { ...rollout, gates: rollout.gates.filter(({ metric }) => metric !== 'Agreement') }, experts: [expert(['*'])] },
    prepare: async (world) => {
      Rollouts.join(world);
      await world.until('a revision serves', () => dark(world)?.rollout?.stable !== undefined);
    },
    act: shadowedPool,
    ends: (world) => {
      const { stable = '', samples, reason, lastGreen = [] } = rolloutReport(dark(world)) ?? {};
      expect({ samples, reason }).toEqual({ samples: 2, reason: 'Promoted' });
      const of = (name: string): string | undefined => world.task(name).status?.assignment?.revision;
      expect(['dark-1', 'dark-2', 'one', 'two'].map(of)).toEqual([lastGreen[0], lastGreen[0], stable, stable]);
      const { arms, shadow } = bookOf(world, 'coding-pool-rollout');
      expect(Object.keys(arms)).toEqual([stable]);
      expect(shadow).toMatchObject({ tasks: 2, copies: { answered: 60 } });
    },
  },
  {
    name: 'a verifier that refuses all in shadow is rolled back, and judges nothing',
    crew: 'all',
    pool,
    prepare: serving,
    act: async (world) => {
      await shadowed(world, refusing);
      await world.until('it is decided', () => rolloutOf(world)?.phase === 'Frozen');
      await ended(world, ['dark-3']);
      await settled(world);
    },
    ends: (world) => {
      const { stable, gates, failures, canary } = rolloutOf(world) ?? {};
      expect(failures).toEqual({ [String(canary)]: 1 });
      expect(gates?.find(({ name }) => name === 'kappa')?.verdict).toBe('Fail');
      expect(judgedBy(world)).toEqual({ 'dark-1': stable, 'dark-2': stable, 'dark-3': stable });
      expect(bookOf(world)).toMatchObject({ arms: {}, shadow: { tasks: 2, acts: { both: 20, onlySecond: 40, neither: 0 } } });
    },
  },
];
