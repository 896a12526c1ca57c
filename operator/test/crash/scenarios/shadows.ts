import type { Assignment, ShadowReport } from '@agentfleet/protocol/api';
import { briefKey, type PoolBrief } from '@agentfleet/protocol/pool';
import { expect } from 'vitest';
import { playWorkers } from '../../../src/controllers/agenttask/testing/scriptedWorker.ts';
import { noShadow, type ShadowTallies } from '../../../src/revisions/index.ts';
import type { Scenario } from '../scenario.ts';
import type { World } from '../world.ts';
import {
  assigned,
  bookIn,
  counted,
  decided,
  ended,
  expectPromoted,
  expert,
  judgedPool,
  modelRollout,
  modelServes,
  modelSettled,
  oneLeft,
  otherArtifact,
  poolRollout,
  poolServes,
  succeedsIf,
} from './revisions.ts';
import { models, patchPool, pools } from './steps.ts';

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

const serving = (world: World): Promise<void> => modelServes(world, rollout);

const briefOf = (world: World): Partial<PoolBrief> => bookIn<Partial<PoolBrief>>(world, 'coding-workers', briefKey, {});

/** Tasks of the shadow phase succeed, and all report copies. */
function playShadowed(world: World, acts: Acts): void {
  const script = succeedsIf('dark');
  playWorkers(world, (assignment, task) => {
    const report = script(assignment, task);
    return report === undefined ? undefined : { ...report, ...reportOf(assignment, acts) };
  });
}

/** Asks for another artifact, and gives it copies of what two tasks are asked. */
async function shadowed(world: World, acts: Acts): Promise<void> {
  playShadowed(world, acts);
  await otherArtifact(world);
  await world.until('it is in shadow', () => modelRollout(world)?.phase === 'Shadowing');
  await world.until('workers know it', () => briefOf(world).shadow?.rollout === modelRollout(world)?.id);
  await ended(world, 'dark-1', 'dark-2');
}

async function settled(world: World): Promise<void> {
  await modelSettled(world);
  await world.until('nobody is in shadow', () => briefOf(world).shadow === undefined);
  const words = (): readonly string[] => models(world)[0]?.status?.conditions?.map(({ type }) => type) ?? [];
  await world.until('nothing is said of a shadow', () => !words().includes('ShadowHealthy'));
  await counted(world);
}

interface Book {
  readonly arms: Readonly<Record<string, object>>;
  readonly shadow: ShadowTallies;
}

const bookOf = (world: World, name = 'judge-model-rollout'): Book => ({
  arms: {},
  shadow: noShadow,
  ...bookIn<Partial<Book>>(world, name, 'counts.json', {}),
});

async function shadowedPool(world: World): Promise<void> {
  playShadowed(world, agreeing);
  await patchPool(world, { experts: [expert('python')] });
  await world.until(
    'workers know it',
    () => briefOf(world).shadow !== undefined && briefOf(world).shadow?.rollout === poolRollout(world)?.id,
  );
  expect(briefOf(world).shadow).toMatchObject({ experts: [{ name: 'gen' }], verifier: null, maxInFlight: 4 });
  await world.until('it is said', () => pools(world)[0]?.status?.conditions?.some(({ type }) => type === 'ShadowHealthy') === true);
  await ended(world, 'dark-1', 'dark-2');
  await decided(world, poolRollout);
  await oneLeft(world, 'coding-expert-');
  await world.until('nobody else is reported', () => briefOf(world).shadow === undefined && briefOf(world).arms?.length === 1);
  await counted(world);
}

/** Shadows: what copies say is counted once, for no arm, and no task is judged by a revision that they speak against. */
export const shadows: readonly Scenario[] = [
  {
    name: 'a verifier that agrees in shadow is tried, and promoted',
    controllerSet: 'all',
    pool: judgedPool,
    prepare: serving,
    act: async (world) => {
      await shadowed(world, agreeing);
      await decided(world, modelRollout);
      await settled(world);
    },
    ends: (world) => {
      const { stable, before } = expectPromoted(modelRollout(world));
      expect(assigned(world, 'verifierRevision')).toEqual({ 'dark-1': before, 'dark-2': before, one: stable, two: stable });
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
    controllerSet: 'all',
    pool: { rollout: { ...rollout, gates: rollout.gates.filter(({ metric }) => metric !== 'Agreement') }, experts: [expert('*')] },
    prepare: poolServes,
    act: shadowedPool,
    ends: (world) => {
      const { stable, before } = expectPromoted(poolRollout(world));
      expect(assigned(world, 'revision')).toEqual({ 'dark-1': before, 'dark-2': before, one: stable, two: stable });
      const { arms, shadow } = bookOf(world, 'coding-pool-rollout');
      expect(Object.keys(arms)).toEqual([stable]);
      expect(shadow).toMatchObject({ tasks: 2, copies: { answered: 60 } });
    },
  },
  {
    name: 'a verifier that refuses all in shadow is rolled back, and judges nothing',
    controllerSet: 'all',
    pool: judgedPool,
    prepare: serving,
    act: async (world) => {
      await shadowed(world, refusing);
      await world.until('it is decided', () => modelRollout(world)?.phase === 'Frozen');
      await ended(world, 'dark-3');
      await settled(world);
    },
    ends: (world) => {
      const { stable, gates, failures, canary } = modelRollout(world) ?? {};
      expect(failures).toEqual({ [String(canary)]: 1 });
      expect(gates?.find(({ name }) => name === 'kappa')?.verdict).toBe('Fail');
      expect(assigned(world, 'verifierRevision')).toEqual({ 'dark-1': stable, 'dark-2': stable, 'dark-3': stable });
      expect(bookOf(world)).toMatchObject({ arms: {}, shadow: { tasks: 2, acts: { both: 20, onlySecond: 40, neither: 0 } } });
    },
  },
];
