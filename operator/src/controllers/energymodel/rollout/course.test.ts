import { findCondition, ResourceClient } from '@agentfleet/kube';
import type { RolloutStatus } from '@agentfleet/protocol/api';
import { describe, expect, it } from 'vitest';
import { resources } from '../../../runtime/resources.ts';
import { newPool, newTask } from '../../agenttask/testing/objects.ts';
import { fails, obedient, playWorkers } from '../../agenttask/testing/scriptedWorker.ts';
import { calibrationDigest, type Reported } from '../testing/calibrated.ts';
import { Course, good } from '../testing/course.ts';

const gate = { name: 'undone', type: 'RollbackSuccess', rollbackSuccess: { min: '0.3', minSamples: 2 } };
const canary = (more: object = {}): object => ({
  steps: [{ weight: 100, minSamples: 2, pauseSeconds: 0 }],
  gates: [gate],
  minSamples: 2,
  drainSeconds: 5,
  rollback: { freezeAfterFailures: 1 },
  ...more,
});
const recreate = { strategy: 'Recreate', drainSeconds: 5, rollback: { freezeAfterFailures: 1 } };
const second = { artifact: { uri: 'builtin://features-v2' } };

const calibrated = { calibration: {}, thresholds: { source: 'Calibration' } };

describe('a revision of a model', () => {
  it('is tried beside the one that serves: each has pods, thresholds and a calibration of its own', async () => {
    await using course = await Course.serving({ rollout: canary(), ...calibrated });
    const { stable = '' } = course.rollout;
    const before = course.brief.verifier;
    await course.patch(second);
    await course.until('it is tried', () => course.rollout.weight === 100);
    await course.until('the brief knows it', () => course.brief.verifierArms?.length === 2);
    const { canary: tried = '' } = course.rollout;
    const arm = (revision: string, artifact: string, veto: number): object => ({
      revision,
      verifier: {
        name: 'judge',
        url: `http://judge-verifier-${revision}.platform.svc:7080`,
        heads: [{ head: 'Code', vetoBelowProbability: veto, warnBelowProbability: 2 * veto }],
        calibration: { abstains: null, digest: calibrationDigest(artifact) },
      },
    });
    expect(course.brief.verifierArms).toMatchObject([arm(stable, 'features-v1', 0.09), arm(tried, 'features-v2', 0.08)]);
    expect(course.brief.verifier).toEqual(before);
    expect(before).toEqual(course.brief.verifierArms?.[0]?.verifier);
    expect(course.model.status?.calibration?.digest).toBe(calibrationDigest('features-v1'));
    expect(course.names('deployments')).toEqual([stable, tried].map((name) => `judge-verifier-${name}`).toSorted());
    expect(course.reaches).toMatchObject({ 'agentfleet.dev/revision': stable });
    await course.work('one', 'two');
    await course.until('it is promoted', () => course.rollout.stable === tried);
    await course.until('it serves', () => course.model.status?.calibration?.digest === calibrationDigest('features-v2'));
    await course.until('the brief follows', () => course.brief.verifier?.url.includes(tried) === true);
    expect(course.brief.verifier).toMatchObject({ calibration: { digest: calibrationDigest('features-v2') } });
    expect(course.reaches).toMatchObject({ 'agentfleet.dev/revision': tried });
    await course.until('the other one is gone', () => course.names('deployments').length === 1);
    expect(course.healthy).toMatchObject({ status: 'True', reason: 'Promoted' });
    expect(course.world.events.map(({ reason }) => reason)).toEqual(expect.arrayContaining(['Loading', 'Promoted']));
  });

  it('is no other one when policy changes, which holds for all of them at once', async () => {
    await using course = await Course.serving({
      rollout: canary(),
      heads: [
        { name: 'Code', lambda: '0.5' },
        { name: 'Shell', lambda: '1' },
      ],
    });
    const { stable } = course.rollout;
    const heads = [
      { name: 'Shell', lambda: '1' },
      { name: 'Code', lambda: '0.5' },
    ];
    await course.patch({ heads, thresholds: { vetoBelowProbability: '0.1' }, resources: { replicas: 2 }, scoring: { batchMax: 4 } });
    await course.until('it holds', () => course.brief.verifierArms?.[0]?.verifier.vetoBelowProbability === 0.1);
    await course.world.rest();
    expect(course.rollout).toMatchObject({ phase: 'Idle', stable });
    expect(course.brief.verifierArms).toMatchObject([{ revision: stable, verifier: { batchMax: 4 } }]);
    expect(course.names('deployments')).toEqual([`judge-verifier-${stable ?? ''}`]);
  });

  it.for([
    ['is not calibrated', { uncalibrated: true }, 'NotCalibrated'],
    ['was calibrated with other features', { features: 'v0' }, 'FeatureSetDiffers'],
    ['was calibrated on too few acts', { samples: 50 }, 'TooFewSamples'],
  ] as const)('that %s is not served where a calibration is asked for', async ([, reported, reason]) => {
    for (const rollout of [recreate, canary()]) {
      await using course = await Course.serving({ rollout, ...calibrated }, { ...good, 'features-v2': reported });
      const { stable } = course.rollout;
      await course.patch(second);
      await course.until('it is frozen', () => course.rollout.phase === 'Frozen');
      expect(course.rollout).toMatchObject({ stable, weight: 0 });
      expect(course.healthy).toMatchObject({ status: 'False', reason: 'Frozen' });
      expect(course.healthy.message).toContain(reason);
      expect(course.model.status?.calibration?.digest).toBe(calibrationDigest('features-v1'));
    }
  });

  it('that never tells how it was calibrated is held, and served as soon as it does', async () => {
    const reported: Record<string, Reported> = { 'features-v1': {} };
    await using course = await Course.serving({ rollout: recreate, ...calibrated }, reported);
    const { stable } = course.rollout;
    await course.patch(second);
    await course.until('its pods answer', () => course.names('deployments').length === 2);
    await course.world.pass(120, 5);
    expect(course.rollout).toMatchObject({ stable, phase: 'Loading' });
    reported['features-v2'] = {};
    await course.until('it serves', () => course.rollout.stable !== stable);
  });

  it('whose new pods do not tell any more how they were calibrated is not promoted before they do', async () => {
    const reported: Record<string, Reported> = { ...good };
    await using course = await Course.serving({ rollout: canary(), ...calibrated }, reported);
    await course.patch(second);
    await course.until('it is tried', () => course.rollout.weight === 100);
    const { canary: tried } = course.rollout;
    delete reported['features-v2'];
    await course.patch({ resources: { replicas: 2 } });
    await course.until('it abstains', () => course.model.status?.arms?.[1]?.calibration?.abstains === 'NotReported');
    await course.work('one', 'two');
    await course.until('it is held', () => course.rollout.reason === 'Held');
    expect(course.rollout).toMatchObject({ phase: 'Canary', canary: tried });
    expect(course.healthy.message).toContain('not known to be in force (NotReported)');
    reported['features-v2'] = {};
    await course.until('it serves', () => course.rollout.stable === tried);
  });

  it('goes back when its worst head is worth too little', async () => {
    const gates = [gate, { name: 'auc', type: 'AUC', auc: { min: '0.75' } }];
    await using course = await Course.serving({ rollout: canary({ gates }) }, { ...good, 'features-v2': { auc: 0.74 } });
    await course.patch(second);
    await course.until('it is frozen', () => course.rollout.phase === 'Frozen');
    expect(course.rollout.gates?.find(({ name }) => name === 'auc')).toMatchObject({
      verdict: 'Fail',
      value: '0.74',
      baseline: '0.9',
      message: 'the worst head is Code: auc 0.740, of the stable 0.900',
    });
  });

  const map = { name: 'own', type: 'CalibrationMap', calibrationMap: { minSamples: 400 } };
  const brier = { name: 'own', type: 'Brier', brier: {} };
  it.for<[string, object, Reported, object, string]>([
    ['says worse probabilities', brier, { brier: 0.2 }, {}, 'the worst head is Code: brier 0.200, of the stable 0.100'],
    ['was mapped by too few acts', map, { samples: 399, knots: [0.9, 0.1] }, {}, '399 of 400 acts'],
    ['has a plateau at its own veto', map, { knots: [0.9, 0.09, 0.09] }, { source: 'Calibration' }, 'its veto below 0.09'],
    [
      'has one at the veto of the spec',
      map,
      { knots: [0.9, 0.6, 0.6] },
      { vetoBelowProbability: '0.6', warnBelowProbability: '0.7' },
      'its veto below 0.6',
    ],
  ])('that %s goes back, and judges nothing', async ([, own, reported, thresholds, words]) => {
    const world = { 'features-v1': { brier: 0.1 }, 'features-v2': reported };
    await using course = await Course.serving({ rollout: canary({ gates: [gate, own] }), thresholds }, world);
    await course.patch(second);
    await course.until('it is frozen', () => course.rollout.phase === 'Frozen');
    const found = course.rollout.gates?.find(({ name }) => name === 'own');
    expect([found?.verdict, found?.message]).toEqual(['Fail', expect.stringContaining(words)]);
    expect(course.counts(course.rollout.canary)).toBeUndefined();
  });

  it('that keeps its Brier score and has a map to veto by is tried', async () => {
    const reported = { brier: 0.1, knots: [0.9, 0.2, 0.2, 0.1] };
    const gates = [gate, brier, { ...map, name: 'map' }];
    await using course = await Course.serving({ rollout: canary({ gates }) }, { 'features-v1': reported, 'features-v2': reported });
    await course.patch(second);
    await course.until('it is tried', () => course.rollout.weight === 100);
    expect(course.rollout.gates?.map(({ name, verdict }) => `${name} ${verdict}`)).toEqual(
      expect.arrayContaining(['own Pass', 'map Pass']),
    );
  });

  it('waits for the approval of a person', async () => {
    await using course = await Course.serving({ rollout: canary({ strategy: 'Manual' }) });
    await course.patch(second);
    await course.until('it is tried', () => course.rollout.weight === 100);
    await course.work('one', 'two');
    await course.until('it waits', () => course.rollout.reason === 'AwaitingApproval');
    const { canary: tried = '' } = course.rollout;
    await course.patch({}, { metadata: { annotations: { 'agentfleet.dev/approve-rollout': tried } } });
    await course.until('it serves', () => course.rollout.stable === tried);
  });
});

describe('tasks', () => {
  it('of all pools that name a model are counted for its revision, beside pools that have rollouts of their own', async () => {
    const expert = { name: 'gen', role: 'Generalist', domains: ['*'], engine: { type: 'Synth' }, replicas: 1 };
    await using course = await Course.serving({ rollout: canary({ minSamples: 4 }) }, good, { rollout: recreate, experts: [expert] });
    const { world } = course;
    await world.createPool(newPool({ energyModelRef: { name: 'judge' } }, 'second'));
    await course.until('the other pool works', () =>
      world.server.objects(resources.expertPools).every(({ status }) => findCondition(status?.conditions, 'Ready')?.status === 'True'),
    );
    await course.patch(second);
    await course.until('it is tried', () => course.rollout.weight === 100);
    const { canary: tried } = course.rollout;
    const names = ['one', 'two', 'three', 'four'];
    playWorkers(
      world,
      obedient(() => fails()),
    );
    // One after another: between two looks at the model there is always one at the pool, whose rollout is another one.
    for (const [at, name] of names.entries()) {
      const poolRef = { name: at % 2 === 0 ? 'coding' : 'second', namespace: 'platform' };
      await world.create(newTask(name, { attempts: { max: 2 }, poolRef }));
      await course.until(`${name} has ended`, () => world.task(name).status?.finished === 'true');
      for (let step = 0; step < at; step += 1) await world.step();
    }
    await course.until('it is promoted', () => course.rollout.stable === tried);
    for (const name of names) {
      const { assignment } = world.task(name).status ?? {};
      expect(assignment).toMatchObject({ attempt: 2, verifierRevision: tried });
      expect(assignment?.rollout?.startsWith(tried ?? '-')).toBe(true);
    }
    expect(course.counts(tried)).toMatchObject({ tasks: { passed: 0, total: 4 } });
  });
});

describe('a generator and its verifier', () => {
  const expert = (domains: readonly string[]): object => ({
    name: 'gen',
    role: 'Generalist',
    domains,
    engine: { type: 'Synth' },
    replicas: 1,
  });
  const isOpen = (status: RolloutStatus | undefined): boolean => status?.canary !== undefined && status.phase !== 'Frozen';

  it('that both change are rolled out one after the other, the verifier first', async () => {
    await using course = await Course.serving({ rollout: recreate }, good, { rollout: recreate, experts: [expert(['*'])] });
    const { world } = course;
    const pool = () => world.server.objects(resources.expertPools)[0]?.status?.rollout;
    const [ofPool, ofModel] = [pool()?.stable, course.rollout.stable];
    const order: string[] = [];
    world.actors.push(() => {
      const open = [isOpen(pool()) ? 'pool' : '', isOpen(course.model.status?.rollout) ? 'model' : ''].filter((name) => name !== '');
      expect(open.length).toBeLessThan(2);
      if (open[0] !== undefined && order.at(-1) !== open[0]) order.push(open[0]);
      return Promise.resolve();
    });
    const pools = new ResourceClient(world.transport, resources.expertPools);
    await Promise.all([
      course.patch(second),
      pools.patch({ namespace: 'platform', name: 'coding' }, { spec: { experts: [expert(['go'])] } as object }),
    ]);
    await course.until('both are promoted', () => pool()?.stable !== ofPool && course.rollout.stable !== ofModel);
    expect(order).toEqual(['model', 'pool']);
  });
});

describe('a model that begins and ends to have rollouts', () => {
  it('goes on with its pods until the first revision answers, and with that until they answer again', async () => {
    await using course = await Course.with({});
    await course.until('it answers', () => course.model.status?.phase === 'Ready');
    expect(course.reaches).not.toHaveProperty('agentfleet.dev/revision');
    await course.patch({ rollout: recreate });
    await course.until('a revision is on its way', () => course.names('deployments').length === 2);
    expect(course.model.status?.endpoint).toBe('http://judge-verifier.platform.svc:7080');
    await course.until('it serves', () => course.rollout.stable !== undefined);
    const { stable = '' } = course.rollout;
    await course.until('the others are gone', () => course.names('deployments').join() === `judge-verifier-${stable}`);
    expect(course.reaches).toMatchObject({ 'agentfleet.dev/revision': stable });
    expect(course.names('services')).toEqual(['judge-verifier', `judge-verifier-${stable}`]);
    await course.patch({ rollout: null });
    await course.until('they come back', () => course.names('deployments').length === 2);
    expect(course.reaches).toMatchObject({ 'agentfleet.dev/revision': stable });
    await course.until('the revision is gone', () => course.names('deployments').join() === 'judge-verifier');
    expect(course.reaches).not.toHaveProperty('agentfleet.dev/revision');
    await course.world.rest();
    expect(course.model.status).not.toHaveProperty('rollout');
    expect(course.model.status).not.toHaveProperty('arms');
    expect(course.world.server.objects(resources.controllerRevisions)).toEqual([]);
  });

  it('touches nothing when the record of what serves is gone', async () => {
    await using course = await Course.serving({ rollout: recreate, ...calibrated }, { 'features-v1': {} });
    const { stable = '' } = course.rollout;
    await course.patch(second);
    await course.until('another one comes up', () => course.names('deployments').length === 2);
    const present = course.names('deployments');
    const records = new ResourceClient(course.world.transport, resources.controllerRevisions);
    await records.delete({ namespace: 'platform', name: `judge-model-${stable}` });
    await course.until('it is said', () => course.healthy.reason === 'RevisionLost');
    await course.world.pass(600, 60);
    expect(course.names('deployments')).toEqual(present);
    expect(course.brief.verifier?.url).toContain(stable);
  });
});
