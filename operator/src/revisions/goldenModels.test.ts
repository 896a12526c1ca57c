import { rolloutReport, type RolloutReport } from './report.ts';
import { ResourceClient } from '@agentfleet/kube';
import type { EnergyModel } from '@agentfleet/protocol/api';
import { describe, expect, it } from 'vitest';
import { verifiers } from '../controllers/energymodel/testing/calibrated.ts';
import { newModel } from '../controllers/energymodel/testing/models.ts';
import { Rollouts } from '../controllers/expertpool/testing/rollouts.ts';
import { World } from '../../test/crash/world.ts';
import { resources } from '../runtime/resources.ts';
import { ruled } from './testing/policies.ts';
import { GoldenJobs, goldenTemplate, type End, type Made } from './testing/jobs.ts';

const rollout = {
  steps: [{ weight: 100, minSamples: 0, pauseSeconds: 0 }],
  gates: [
    { name: 'set', metric: 'GoldenLoss', templateRef: { name: 'golden' } },
    { name: 'auc', metric: 'AUC', atLeast: '0.8', minSamples: 50 },
  ],
  minSamples: 0,
  rollback: { freezeAfterFailures: 1 },
};

/** A set in which so many of a hundred acts are on their side of the threshold, and the curve of the head Code. */
const judges = (passed: number, auc: number): End => ({
  says: JSON.stringify({ passed, total: 100, heads: [{ name: 'Code', auc, ece: 0.01, samples: 100 }] }),
});

interface Play {
  readonly world: World;
  readonly jobs: GoldenJobs;
  readonly rollout: () => RolloutReport | undefined;
}

async function tried(ends: (job: Made) => End): Promise<Play> {
  const world = await World.start({
    controllerSet: 'all',
    seed: 1,
    pool: { energyModelRef: { name: 'judge' } },
    injection: () => undefined,
  });
  Rollouts.join(world);
  // Both report the same of themselves, whatever they are worth.
  world.ask = verifiers(world.server, { 'features-v1': { auc: 0.95 }, 'features-v2': { auc: 0.95 } });
  const jobs = GoldenJobs.join(world, ends);
  await new ResourceClient(world.transport, resources.podTemplates).create(goldenTemplate());
  const models = new ResourceClient<EnergyModel>(world.transport, resources.energyModels);
  await models.create(newModel(await ruled(world.transport, 'judge', { rollout, calibration: {} })));
  await world.startOperator();
  const now = (): RolloutReport | undefined => rolloutReport(world.server.objects<EnergyModel>(resources.energyModels)[0]?.status);
  await world.until('a revision serves', () => now()?.stable !== undefined);
  await models.patch({ namespace: 'platform', name: 'judge' }, { spec: { artifact: { uri: 'builtin://features-v2' } } });
  return { world, jobs, rollout: now };
}

describe('a golden set of a verifier', () => {
  it('is asked where one revision answers, and lets it be tried', async () => {
    const one = await tried(() => judges(97, 0.9));
    await using world = one.world;
    await world.until('it is promoted', () => one.rollout()?.reason === 'Promoted');
    const [canary, stable] = [one.jobs.of('canary')[0], one.jobs.of('stable')[0]];
    expect(canary?.arm).toMatchObject({ kind: 'EnergyModel', name: 'judge', experts: [], revision: one.rollout()?.stable });
    expect(canary?.arm.verifier?.url).toContain(canary?.arm.revision ?? '-');
    expect(stable?.arm.verifier?.url).toContain(stable?.arm.revision ?? '-');
    expect(one.rollout()?.gates?.find(({ name }) => name === 'auc')).toMatchObject({ verdict: 'Pass', value: '0.9', baseline: '0.9' });
  });

  it('measures what a verifier only reports: what it measured decides, before any task', async () => {
    const one = await tried(({ role }) => judges(97, role === 'canary' ? 0.7 : 0.95));
    await using world = one.world;
    const weights = new Set<number>();
    world.actors.push(() => Promise.resolve(void weights.add(one.rollout()?.weight ?? 0)));
    await world.until('it is rolled back', () => one.rollout()?.phase === 'Frozen');
    expect([...weights]).toEqual([0]);
    expect(one.rollout()?.gates).toMatchObject([
      { name: 'set', verdict: 'Pass' },
      { name: 'auc', verdict: 'Fail', value: '0.7', baseline: '0.95' },
    ]);
  });
});
