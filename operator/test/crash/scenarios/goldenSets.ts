import { rolloutReport, type RolloutReport } from '../../../src/revisions/index.ts';
import { ResourceClient } from '@agentfleet/kube';
import type { ExpertPool } from '@agentfleet/protocol/api';
import { expect } from 'vitest';
import { Rollouts } from '../../../src/controllers/expertpool/testing/rollouts.ts';
import { GoldenJobs, goldenTemplate, passes, type End, type Made } from '../../../src/revisions/testing/jobs.ts';
import { resources } from '../../../src/runtime/resources.ts';
import type { Scenario } from '../scenario.ts';
import type { World } from '../world.ts';
import { patchPool } from './steps.ts';

const expert = (domain: string): object => ({
  name: 'gen',
  role: 'Generalist',
  domains: [domain],
  engine: { type: 'Synth' },
  replicas: 1,
});

const rollout = {
  strategy: 'Canary',
  steps: [{ weight: 100, minSamples: 0, pauseSeconds: 0 }],
  gates: [{ name: 'set', metric: 'GoldenLoss', templateRef: { name: 'golden' } }],
  minSamples: 0,
  drainSeconds: 5,
};

const rolloutOf = (world: World): RolloutReport | undefined =>
  rolloutReport(world.server.objects<ExpertPool>(resources.expertPools)[0]?.status);

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
    return [(object as unknown as ExpertPool).metadata.name];
  });

interface Entry {
  readonly revision: string;
  readonly run: number;
  readonly report?: { readonly passed: number };
}

function bookOf(world: World): readonly Entry[] {
  const map = world.server.objects(resources.configMaps).find(({ metadata }) => metadata.name === 'coding-pool-rollout');
  return JSON.parse(map?.data?.['golden.json'] ?? '[]') as Entry[];
}

/** Golden sets: each Job is made once, and no task is given to what loses its set. */
export const goldenSets: readonly Scenario[] = [
  {
    name: 'a golden set is lost, and another one won',
    crew: 'all',
    pool: { rollout, experts: [expert('*')] },
    prepare: async (world) => {
      Rollouts.join(world);
      GoldenJobs.join(world, ends);
      await new ResourceClient(world.transport, resources.podTemplates).create(goldenTemplate());
      await world.until('a revision serves', () => rolloutOf(world)?.stable !== undefined);
    },
    act: async (world) => {
      await patchPool(world, { experts: [expert('python')] });
      await world.until('it is lost', () => Object.keys(rolloutOf(world)?.failures ?? {}).length === 1);
      await patchPool(world, { experts: [expert('go')] });
      await world.until('the other one serves', () => rolloutOf(world)?.lastGreen !== undefined);
      const servers = (): number =>
        world.server.objects(resources.deployments).filter(({ metadata }) => metadata.name.startsWith('coding-expert-')).length;
      await world.until('one revision is left', () => servers() === 1);
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
      expect(rolloutOf(world)).toMatchObject({ reason: 'Promoted', lastGreen: [bookOf(world)[0]?.revision] });
    },
  },
];
