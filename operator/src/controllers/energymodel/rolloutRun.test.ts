import { findCondition, ResourceClient } from '@agentfleet/kube';
import type { RolloutPolicy, RolloutStatus } from '@agentfleet/protocol/api';
import { describe, expect, it } from 'vitest';
import { type Deployment, resources } from '../../runtime/resources.ts';
import { newPool, newTask } from '../agenttask/testing/objects.ts';
import { fails, obedient, playWorkers } from '../agenttask/testing/scriptedWorker.ts';
import { calibrationDigest, type VerifierFigures } from './testing/calibrated.ts';
import { RolloutRun, good } from './testing/rolloutRun.ts';

const gate = { name: 'undone', metric: 'RollbackSuccess', atLeast: '0.3', minSamples: 2 };
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

/** Plays the Deployment of a verifier: so many of its pods answer, since that time. */
async function answering({ world }: RolloutRun, revision: string, readyReplicas: number, forSeconds = 0): Promise<void> {
  const lastTransitionTime = new Date(world.clock.now() - 1000 * forSeconds).toISOString();
  const conditions = [{ type: 'Available', status: readyReplicas === 0 ? 'False' : 'True', lastTransitionTime }];
  const deployments = new ResourceClient<Deployment>(world.transport, resources.deployments);
  const where = { namespace: 'platform', name: `judge-verifier-${revision}` };
  await deployments.patch(where, { status: { readyReplicas, conditions } }, { subresource: 'status' });
}

describe('a revision of a model', () => {
  it('is tried beside the one that serves: each has pods, thresholds and a calibration of its own', async () => {
    await using run = await RolloutRun.serving({ rollout: canary(), ...calibrated });
    const { stable = '' } = run.rollout;
    const before = run.brief.verifier;
    await run.patch(second);
    await run.until('it is tried', () => run.rollout.weight === 100);
    await run.until('the brief knows it', () => run.brief.verifierArms?.length === 2);
    const { canary: tried = '' } = run.rollout;
    const arm = (revision: string, artifact: string, veto: number): object => ({
      revision,
      verifier: {
        name: 'judge',
        url: `http://judge-verifier-${revision}.platform.svc:7080`,
        heads: [{ head: 'Code', vetoBelowProbability: veto, warnBelowProbability: 2 * veto }],
        calibration: { abstains: null, digest: calibrationDigest(artifact) },
      },
    });
    expect(run.brief.verifierArms).toMatchObject([arm(stable, 'features-v1', 0.09), arm(tried, 'features-v2', 0.08)]);
    expect(run.brief.verifier).toEqual(before);
    expect(before).toEqual(run.brief.verifierArms?.[0]?.verifier);
    expect(run.model.status?.arms?.[0]?.calibration?.digest).toBe(calibrationDigest('features-v1'));
    expect(run.names('deployments')).toEqual([stable, tried].map((name) => `judge-verifier-${name}`).toSorted());
    expect(run.reaches).toMatchObject({ 'agentfleet.dev/revision': stable });
    await run.work('one', 'two');
    await run.until('it is promoted', () => run.rollout.stable === tried);
    await run.until('it serves', () => run.model.status?.arms?.[0]?.calibration?.digest === calibrationDigest('features-v2'));
    await run.until('the brief follows', () => run.brief.verifier?.url.includes(tried) === true);
    expect(run.brief.verifier).toMatchObject({ calibration: { digest: calibrationDigest('features-v2') } });
    expect(run.reaches).toMatchObject({ 'agentfleet.dev/revision': tried });
    await run.until('the other one is gone', () => run.names('deployments').length === 1);
    expect(run.healthy).toMatchObject({ status: 'True', reason: 'Promoted' });
    expect(run.world.events.map(({ reason }) => reason)).toEqual(expect.arrayContaining(['Loading', 'Promoted']));
  });

  it('is no other one when policy changes, which holds for all of them at once', async () => {
    await using run = await RolloutRun.serving({
      rollout: canary(),
      heads: [
        { name: 'Code', lambda: '0.5' },
        { name: 'Shell', lambda: '1' },
      ],
    });
    const { stable } = run.rollout;
    const heads = [
      { name: 'Shell', lambda: '1' },
      { name: 'Code', lambda: '0.5' },
    ];
    await run.patch({ heads, thresholds: { vetoBelowProbability: '0.1' }, resources: { replicas: 2 } });
    await run.until('it holds', () => run.brief.verifierArms?.[0]?.verifier.vetoBelowProbability === 0.1);
    await run.world.rest();
    expect(run.rollout).toMatchObject({ phase: 'Idle', stable });
    expect(run.brief.verifierArms).toMatchObject([{ revision: stable, verifier: { vetoBelowProbability: 0.1 } }]);
    expect(run.names('deployments')).toEqual([`judge-verifier-${stable ?? ''}`]);
  });

  it.for([
    ['is not calibrated', { uncalibrated: true }, 'NotCalibrated'],
    ['was calibrated with other features', { features: 'v0' }, 'FeatureSetDiffers'],
    ['was calibrated on too few acts', { samples: 50 }, 'TooFewSamples'],
  ] as const)('that %s is not served where a calibration is asked for', async ([, reported, reason]) => {
    for (const rollout of [recreate, canary()]) {
      await using run = await RolloutRun.serving({ rollout, ...calibrated }, { ...good, 'features-v2': reported });
      const { stable } = run.rollout;
      await run.patch(second);
      await run.until('it is frozen', () => run.rollout.phase === 'Frozen');
      expect(run.rollout).toMatchObject({ stable, weight: 0 });
      expect(run.healthy).toMatchObject({ status: 'False', reason: 'Frozen' });
      expect(run.healthy.message).toContain(reason);
      expect(run.model.status?.arms?.[0]?.calibration?.digest).toBe(calibrationDigest('features-v1'));
    }
  });

  it('that never reports how it was calibrated is held, and served as soon as it does', async () => {
    const reported: Record<string, VerifierFigures> = { 'features-v1': {} };
    await using run = await RolloutRun.serving({ rollout: recreate, ...calibrated }, reported);
    const { stable } = run.rollout;
    await run.patch(second);
    await run.until('its pods answer', () => run.names('deployments').length === 2);
    await run.world.pass(120, 5);
    expect(run.rollout).toMatchObject({ stable, phase: 'Loading' });
    reported['features-v2'] = {};
    await run.until('it serves', () => run.rollout.stable !== stable);
  });

  it('whose new pods do not report any more how they were calibrated is not promoted before they do', async () => {
    const reported: Record<string, VerifierFigures> = { ...good };
    await using run = await RolloutRun.serving({ rollout: canary(), ...calibrated }, reported);
    await run.patch(second);
    await run.until('it is tried', () => run.rollout.weight === 100);
    const { canary: tried } = run.rollout;
    delete reported['features-v2'];
    await run.patch({ resources: { replicas: 2 } });
    await run.until('it abstains', () => run.model.status?.arms?.[1]?.calibration?.abstains === 'NotReported');
    await run.work('one', 'two');
    await run.until('it is held', () => run.rollout.reason === 'Held');
    expect(run.rollout).toMatchObject({ phase: 'Canary', canary: tried });
    expect(run.healthy.message).toContain('not known to be in force (NotReported)');
    reported['features-v2'] = {};
    await run.until('it serves', () => run.rollout.stable === tried);
  });

  it('whose pods died gets no task until they answer, and goes back when they stay away', async () => {
    await using run = await RolloutRun.serving({ rollout: canary() });
    const { stable = '' } = run.rollout;
    await run.patch(second);
    await run.until('it is tried', () => run.rollout.weight === 100);
    const { canary: tried = '' } = run.rollout;
    const pods = (readyReplicas: number, forSeconds = 0): Promise<void> => answering(run, tried, readyReplicas, forSeconds);
    await pods(0);
    await run.until('it gets no task', () => run.rollout.weight === 0);
    await run.work('one');
    expect(run.world.task('one').status?.assignment).toMatchObject({ verifierRevision: stable });
    await pods(1);
    await run.until('it goes on', () => run.rollout.weight === 100);
    expect(run.rollout).toMatchObject({ phase: 'Canary', canary: tried, stable });
    await pods(0, 600);
    await run.until('it is frozen', () => run.rollout.phase === 'Frozen');
    expect(run.rollout).toMatchObject({ stable, failures: { [tried]: 1 } });
    expect(run.healthy.message).toContain('went away');
  });

  it('whose pods come and go goes back when they were away for ten minutes in all, and did not answer as long between', async () => {
    await using run = await RolloutRun.serving({ rollout: canary() });
    await run.patch(second);
    await run.until('it is tried', () => run.rollout.weight === 100);
    const { canary: tried = '' } = run.rollout;
    const flap = async (away: number, back: number): Promise<void> => {
      await answering(run, tried, 0);
      await run.world.pass(away, 5);
      await answering(run, tried, 1);
      await run.world.pass(back, 5);
    };
    await flap(280, 30);
    await flap(280, 620);
    await flap(280, 30);
    await flap(280, 30);
    expect(run.rollout).toMatchObject({ phase: 'Canary', canary: tried, weight: 100 });
    await answering(run, tried, 0);
    await run.until('it is frozen', () => run.rollout.phase === 'Frozen');
    expect(run.rollout).toMatchObject({ failures: { [tried]: 1 } });
    expect(run.healthy.message).toContain('went away');
  });

  it('goes back when its worst head is worth too little', async () => {
    const gates = [gate, { name: 'auc', metric: 'AUC', atLeast: '0.75' }];
    await using run = await RolloutRun.serving({ rollout: canary({ gates }) }, { ...good, 'features-v2': { auc: 0.74 } });
    await run.patch(second);
    await run.until('it is frozen', () => run.rollout.phase === 'Frozen');
    expect(run.rollout.gates?.find(({ name }) => name === 'auc')).toMatchObject({
      verdict: 'Fail',
      value: '0.74',
      baseline: '0.9',
      message: 'the worst head is Code: auc 0.740, of the stable 0.900',
    });
  });

  const map = { name: 'own', metric: 'CalibrationMap', minSamples: 400 };
  const brier = { name: 'own', metric: 'BrierRatio' };
  it.for<[string, object, VerifierFigures, object, string]>([
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
    await using run = await RolloutRun.serving({ rollout: canary({ gates: [gate, own] }), thresholds }, world);
    await run.patch(second);
    await run.until('it is frozen', () => run.rollout.phase === 'Frozen');
    const found = run.rollout.gates?.find(({ name }) => name === 'own');
    expect([found?.verdict, found?.message]).toEqual(['Fail', expect.stringContaining(words)]);
    expect(run.counts(run.rollout.canary)).toBeUndefined();
  });

  it('that keeps its Brier score and has a map to veto by is tried', async () => {
    const reported = { brier: 0.1, knots: [0.9, 0.2, 0.2, 0.1] };
    const gates = [gate, brier, { ...map, name: 'map' }];
    await using run = await RolloutRun.serving({ rollout: canary({ gates }) }, { 'features-v1': reported, 'features-v2': reported });
    await run.patch(second);
    await run.until('it is tried', () => run.rollout.weight === 100);
    expect(run.rollout.gates?.map(({ name, verdict }) => `${name} ${verdict}`)).toEqual(expect.arrayContaining(['own Pass', 'map Pass']));
  });

  it('waits for the approval of a person', async () => {
    await using run = await RolloutRun.serving({ rollout: canary({ promotion: { requireApproval: true } }) });
    await run.patch(second);
    await run.until('it is tried', () => run.rollout.weight === 100);
    await run.work('one', 'two');
    await run.until('it waits', () => run.rollout.reason === 'AwaitingApproval');
    const { canary: tried = '' } = run.rollout;
    await run.order('Approve', tried);
    await run.until('it serves', () => run.rollout.stable === tried);
    await run.until('the order is done', () => run.orders().includes('Done'));
  });

  it('is not tried again when a person rejects it', async () => {
    await using run = await RolloutRun.serving({ rollout: canary({ rollback: { freezeAfterFailures: 2 } }) });
    const { stable } = run.rollout;
    await run.patch(second);
    await run.until('it is tried', () => run.rollout.weight === 100);
    await run.order('Reject', run.rollout.canary ?? '');
    await run.until('it is frozen', () => run.rollout.phase === 'Frozen');
    await run.until('the order is done', () => run.orders().includes('Done'));
    expect(run.rollout).toMatchObject({ stable, weight: 0 });
  });
});

describe('tasks', () => {
  it('of all pools that name a model are counted for its revision, beside pools that have rollouts of their own', async () => {
    const expert = { name: 'gen', role: 'Generalist', domains: ['*'], engine: { type: 'Synth' }, replicas: 1 };
    await using run = await RolloutRun.serving({ rollout: canary({ minSamples: 4 }) }, good, { rollout: recreate, experts: [expert] });
    const { world } = run;
    await world.createPool(newPool({ energyModelRef: { name: 'judge' } }, 'second'));
    await run.until('the other pool works', () =>
      world.server.objects(resources.expertPools).every(({ status }) => findCondition(status?.conditions, 'Ready')?.status === 'True'),
    );
    await run.patch(second);
    await run.until('it is tried', () => run.rollout.weight === 100);
    const { canary: tried } = run.rollout;
    const names = ['one', 'two', 'three', 'four'];
    playWorkers(
      world,
      obedient(() => fails()),
    );
    // One after another: between two looks at the model there is always one at the pool, whose rollout is another one.
    for (const [at, name] of names.entries()) {
      const poolRef = { name: at % 2 === 0 ? 'coding' : 'second', namespace: 'platform' };
      await world.create(newTask(name, { attempts: { max: 2 }, poolRef }));
      await run.until(`${name} has ended`, () => world.task(name).status?.finished === 'true');
      for (let step = 0; step < at; step += 1) await world.step();
    }
    await run.until('it is promoted', () => run.rollout.stable === tried);
    for (const name of names) {
      const { assignment } = world.task(name).status ?? {};
      expect(assignment).toMatchObject({ attempt: 2, verifierRevision: tried });
      expect(assignment?.rollout?.startsWith(tried ?? '-')).toBe(true);
    }
    expect(run.counts(tried)).toMatchObject({ tasks: { passed: 0, total: 4 } });
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
    await using run = await RolloutRun.serving({ rollout: recreate }, good, { rollout: recreate, experts: [expert(['*'])] });
    const { world } = run;
    const pool = () => world.server.objects(resources.expertPools)[0]?.status?.rollout;
    const [ofPool, ofModel] = [pool()?.stable, run.rollout.stable];
    const order: string[] = [];
    world.actors.push(() => {
      const open = [isOpen(pool()) ? 'pool' : '', isOpen(run.model.status?.rollout) ? 'model' : ''].filter((name) => name !== '');
      expect(open.length).toBeLessThan(2);
      if (open[0] !== undefined && order.at(-1) !== open[0]) order.push(open[0]);
      return Promise.resolve();
    });
    const pools = new ResourceClient(world.transport, resources.expertPools);
    await Promise.all([
      run.patch(second),
      pools.patch({ namespace: 'platform', name: 'coding' }, { spec: { experts: [expert(['go'])] } as object }),
    ]);
    await run.until('both are promoted', () => pool()?.stable !== ofPool && run.rollout.stable !== ofModel);
    expect(order).toEqual(['model', 'pool']);
  });
});

it('a policy that is gone, or that the kind cannot obey, leaves everything as it is and is reported', async () => {
  await using run = await RolloutRun.serving({ rollout: recreate });
  const { stable } = run.rollout;
  const policies = new ResourceClient<RolloutPolicy>(run.world.transport, resources.rolloutPolicies);
  await policies.delete({ namespace: 'platform', name: 'judge' });
  await run.patch({ artifact: { uri: 'builtin://features-v2' } });
  await run.until('it is missed', () => run.rollout.reason === 'PolicyMissing');
  expect(run.healthy).toMatchObject({ status: 'False', message: expect.stringContaining('there is no RolloutPolicy judge') as string });
  await run.patch({ rollout: { gates: [{ name: 'draft', metric: 'DraftAcceptance' }] } });
  await run.until('it is unfit', () => run.rollout.reason === 'PolicyUnfit');
  expect(run.rollout).toMatchObject({ phase: 'Idle', stable });
  expect(run.names('deployments')).toEqual([`judge-verifier-${stable ?? ''}`]);
  await run.patch({ rollout: recreate });
  await run.until('it serves', () => run.rollout.stable !== stable);
});

describe('a model that begins and ends to have rollouts', () => {
  it('goes on with its pods until the first revision answers, and with that until they answer again', async () => {
    await using run = await RolloutRun.with({});
    await run.until('it answers', () => run.model.status?.ready === 1);
    expect(run.reaches).not.toHaveProperty('agentfleet.dev/revision');
    await run.patch({ rollout: recreate });
    await run.until('a revision is on its way', () => run.names('deployments').length === 2);
    expect(run.model.status?.arms?.[0]?.endpoint).toBe('http://judge-verifier.platform.svc:7080');
    await run.until('it serves', () => run.rollout.stable !== undefined);
    const { stable = '' } = run.rollout;
    await run.until('the others are gone', () => run.names('deployments').join() === `judge-verifier-${stable}`);
    expect(run.reaches).toMatchObject({ 'agentfleet.dev/revision': stable });
    expect(run.names('services')).toEqual(['judge-verifier', `judge-verifier-${stable}`]);
    await run.patch({ rollout: null });
    await run.until('they come back', () => run.names('deployments').length === 2);
    expect(run.reaches).toMatchObject({ 'agentfleet.dev/revision': stable });
    await run.until('the revision is gone', () => run.names('deployments').join() === 'judge-verifier');
    expect(run.reaches).not.toHaveProperty('agentfleet.dev/revision');
    await run.world.rest();
    expect(run.model.status).not.toHaveProperty('rollout');
    expect(run.model.status?.arms).toHaveLength(1);
    expect(run.world.server.objects(resources.controllerRevisions)).toEqual([]);
  });

  it('touches nothing when the record of what serves is gone', async () => {
    await using run = await RolloutRun.serving({ rollout: recreate, ...calibrated }, { 'features-v1': {} });
    const { stable = '' } = run.rollout;
    await run.patch(second);
    await run.until('another one comes up', () => run.names('deployments').length === 2);
    const present = run.names('deployments');
    const records = new ResourceClient(run.world.transport, resources.controllerRevisions);
    await records.delete({ namespace: 'platform', name: `judge-model-${stable}` });
    await run.until('it is said', () => run.healthy.reason === 'RevisionLost');
    await run.world.pass(600, 60);
    expect(run.names('deployments')).toEqual(present);
    expect(run.brief.verifier?.url).toContain(stable);
  });
});
