import { ResourceClient, type KubeObject } from '@agentfleet/kube';
import { expect } from 'vitest';
import { GoldenJobs, goldenTemplate, passes, type End, type Made } from '../../../src/revisions/testing/jobs.ts';
import { resources } from '../../../src/runtime/resources.ts';
import type { Scenario } from '../scenario.ts';
import type { World } from '../world.ts';
import { bookIn, expert, oneLeft, poolRollout, poolServes } from './revisions.ts';
import { patchPool } from './steps.ts';

const rollout = {
  strategy: 'Canary',
  steps: [{ weight: 100, minSamples: 0, pauseSeconds: 0 }],
  gates: [{ name: 'set', metric: 'GoldenLoss', templateRef: { name: 'golden' } }],
  minSamples: 0,
  drainSeconds: 5,
};

/** The first Job of the first canary loses its pod; then the set is lost. What comes next passes. */
function ends({ role, name, arm }: Made): End {
  if (role === 'stable') return passes(97);
  if (!arm.experts.some(({ domains }) => domains.includes('python'))) return passes(98);
  return name.endsWith('-0') ? 'Evicted' : passes(90);
}

/** Jobs that were made, in their order, without what differs between two runs. */
const made = (world: World): readonly string[] =>
  world.history.changes.flatMap(({ kind, change: { object, previous } }) => {
    if (kind !== 'jobs.batch' || object === undefined || previous !== undefined) return [];
    return [(object as unknown as KubeObject).metadata.name];
  });

interface Entry {
  readonly revision: string;
  readonly run: number;
  readonly report?: { readonly passed: number };
}

const bookOf = (world: World): readonly Entry[] => bookIn<readonly Entry[]>(world, 'coding-pool-rollout', 'golden.json', []);

/** Golden sets: each Job is made once, and no task is given to what loses its set. */
export const goldenSets: readonly Scenario[] = [
  {
    name: 'a golden set is lost, and another one won',
    controllerSet: 'all',
    pool: { rollout, experts: [expert('*')] },
    prepare: async (world) => {
      GoldenJobs.join(world, ends);
      await new ResourceClient(world.transport, resources.podTemplates).create(goldenTemplate());
      await poolServes(world);
    },
    act: async (world) => {
      await patchPool(world, { experts: [expert('python')] });
      await world.until('it is lost', () => Object.keys(poolRollout(world)?.failures ?? {}).length === 1);
      await patchPool(world, { experts: [expert('go')] });
      await world.until('the other one serves', () => poolRollout(world)?.lastGreen !== undefined);
      await oneLeft(world, 'coding-expert-');
    },
    ends: (world) => {
      const names = made(world);
      expect(names).toHaveLength(4);
      expect(new Set(names).size).toBe(4);
      expect(bookOf(world).map(({ run, report }) => [run, report?.passed])).toEqual([
        [0, 97],
        [1, 90],
        [0, 98],
      ]);
      expect(poolRollout(world)).toMatchObject({ reason: 'Promoted', lastGreen: [bookOf(world)[0]?.revision] });
    },
  },
];
