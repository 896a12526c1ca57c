import { rolloutReport, type RolloutReport } from './report.ts';
import { events, ResourceClient, type KubeEvent } from '@agentfleet/kube';
import type { ExpertPool } from '@agentfleet/protocol/api';
import { describe, expect, it } from 'vitest';
import { newTask } from '../controllers/agenttask/testing/objects.ts';
import { Rollouts } from '../controllers/expertpool/testing/rollouts.ts';
import { patchPool } from '../../test/crash/scenarios/steps.ts';
import { World } from '../../test/crash/world.ts';
import { type Job, type PodTemplate, resources } from '../runtime/resources.ts';
import { GoldenJobs, goldenTemplate, passes, type End, type Made } from './testing/jobs.ts';

const expert = (...domains: readonly string[]): object => ({
  name: 'gen',
  role: 'Generalist',
  domains,
  engine: { type: 'Synth' },
  replicas: 1,
});

const pool = (more: object = {}): Readonly<Record<string, unknown>> => ({
  rollout: {
    strategy: 'Canary',
    steps: [{ weight: 100, minSamples: 0, pauseSeconds: 0 }],
    gates: [
      {
        name: 'set',
        metric: 'GoldenLoss',
        templateRef: { name: 'golden' },
        atMost: '0.01',
        minSamples: 50,
      },
    ],
    minSamples: 0,
    drainSeconds: 5,
    ...more,
  },
  experts: [expert('*')],
});

interface Play {
  readonly world: World;
  readonly jobs: GoldenJobs;
  readonly rollout: () => RolloutReport | undefined;
}

/** A pool that serves a revision, and the one that plays its Jobs. */
async function play(ends: (job: Made) => End, template: PodTemplate | null = goldenTemplate(), more: object = {}): Promise<Play> {
  const world = await World.start({ controllerSet: 'all', seed: 1, pool: pool(more), injection: () => undefined });
  Rollouts.join(world);
  const jobs = GoldenJobs.join(world, ends);
  if (template !== null) await templates(world).create(template);
  await world.startOperator();
  const rollout = (): RolloutReport | undefined => rolloutReport(world.server.objects<ExpertPool>(resources.expertPools)[0]?.status);
  await world.until('a revision serves', () => rollout()?.stable !== undefined);
  return { world, jobs, rollout };
}

const templates = (world: World): ResourceClient<PodTemplate> => new ResourceClient(world.transport, resources.podTemplates);

const byRole =
  (canary: End, stable: End = passes(98)) =>
  ({ role }: Made): End =>
    role === 'canary' ? canary : stable;

/** Asks for another revision and waits for a reason of its rollout. */
async function tried({ world, rollout }: Play, reason: string, ...domains: readonly string[]): Promise<RolloutReport> {
  await patchPool(world, { experts: [expert(...domains)] });
  await world.until(`it is ${reason}`, () => rollout()?.reason === reason);
  return rollout() as RolloutReport;
}

const gateOf = ({ gates }: RolloutReport) => gates?.[0];

describe('a golden set', () => {
  it('is run against both revisions before any task, and what passes it is tried', async () => {
    const one = await play(byRole(passes(98)));
    await using world = one.world;
    await world.create(newTask('before'));
    const end = await tried(one, 'Promoted', 'python');
    expect(one.jobs.made.map(({ role }) => role).toSorted()).toEqual(['canary', 'stable']);
    const [canary, stable] = [one.jobs.of('canary')[0], one.jobs.of('stable')[0]];
    expect(canary?.seed).toBe(stable?.seed);
    expect(canary?.arm).toMatchObject({ kind: 'ExpertPool', name: 'coding', namespace: 'platform', revision: end.stable, verifier: null });
    expect(stable?.arm.revision).toBe(end.lastGreen?.[0]);
    expect(canary?.arm.experts[0]?.url).not.toBe(stable?.arm.experts[0]?.url);
    expect(gateOf(end)).toMatchObject({ name: 'set', verdict: 'Pass', value: '0.98', baseline: '0.98', samples: 100 });
  });

  it('that is lost leads back, and no task was ever given to the revision', async () => {
    const one = await play(byRole(passes(96)), goldenTemplate(), { rollback: { freezeAfterFailures: 1 } });
    await using world = one.world;
    const weights = new Set<number>();
    world.actors.push(() => Promise.resolve(void weights.add(one.rollout()?.weight ?? 0)));
    const end = await tried(one, 'Frozen', 'python');
    expect([...weights]).toEqual([0]);
    expect(end.message).toContain('96 of 100 cases pass, 98 of the stable revision');
    expect(gateOf(end)).toMatchObject({ verdict: 'Fail', value: '0.96' });
  });

  it('makes no task wait: they go on with the stable revision', async () => {
    const one = await play(() => 'Goes on');
    await using world = one.world;
    const { stable, phase, weight, message } = await tried(one, 'GoldenSet', 'python');
    expect({ phase, weight }).toEqual({ phase: 'Loading', weight: 0 });
    await world.until('its Job is reported', () => one.rollout()?.message.includes('runs') === true);
    expect(message).toContain('gate set');
    await world.create(newTask('meanwhile'));
    await world.until('it is assigned', () => world.task('meanwhile').status?.assignment !== undefined);
    expect(world.task('meanwhile').status?.assignment?.revision).toBe(stable);
  });

  it('names what keeps the pod of its Job out', async () => {
    const one = await play(() => 'Goes on');
    await using world = one.world;
    await tried(one, 'GoldenSet', 'python');
    const note = 'Error creating: pods "golden-1" is forbidden: exceeded quota: compute';
    for (const { metadata } of world.server.objects<Job>(resources.jobs))
      await new ResourceClient<KubeEvent>(world.transport, events).create({
        metadata: { name: `refused-${metadata.name}`, namespace: 'platform' },
        type: 'Warning',
        reason: 'FailedCreate',
        note,
        regarding: { kind: 'Job', uid: metadata.uid },
      } as KubeEvent);
    await world.until(
      'it is reported',
      () => one.rollout()?.message.includes(`pods cannot be made: FailedCreate: ${note}; change`) === true,
    );
  });

  it.each<readonly [string, End, string]>([
    ['says nothing', { says: '' }, 'said nothing'],
    ['says what is no result', { says: 'all good' }, 'termination message has to be'],
    ['counts more than there was', { says: '{"passed":101,"total":100}' }, '101 passed of 100'],
    ['fails, even with a good score', { exits: 1, says: '{"passed":100,"total":100}' }, 'ended with 1'],
    ['takes too long', 'Late', 'raise activeDeadlineSeconds of the PodTemplate'],
  ])('is missing data where the Job %s, and is not run again', async (_, end, words) => {
    const one = await play(byRole(end));
    await using world = one.world;
    const { phase, weight, message, gates } = await tried(one, 'NoGoldenResult', 'python');
    expect({ phase, weight }).toEqual({ phase: 'Loading', weight: 0 });
    expect(message).toContain(words);
    expect(gates?.[0]?.verdict).toBe('InsufficientData');
    await world.pass(60);
    expect(one.jobs.of('canary')).toHaveLength(1);
    expect(one.rollout()?.reason).toBe('NoGoldenResult');
    // A word of a person asks for another run.
    one.jobs.ends = () => passes(98);
    const pools = new ResourceClient<ExpertPool>(world.transport, resources.expertPools);
    await pools.patch({ namespace: 'platform', name: 'coding' }, { metadata: { annotations: { 'agentfleet.dev/retry-rollout': '1' } } });
    await world.until('it is promoted', () => one.rollout()?.reason === 'Promoted');
    expect(one.jobs.of('canary')).toHaveLength(2);
  });

  it('waits for a template, and is run anew when its content changes', async () => {
    const one = await play(byRole({ says: 'nonsense' }), null);
    await using world = one.world;
    const missing = await tried(one, 'NoGoldenResult', 'python');
    expect(missing.message).toContain('there is no PodTemplate golden');
    await templates(world).create(goldenTemplate('one'));
    await world.until('it is run', () => one.rollout()?.message.includes('has to be') === true);
    one.jobs.ends = () => passes(99);
    await templates(world).patch({ namespace: 'platform', name: 'golden' }, { template: goldenTemplate('two').template });
    await world.until('it is promoted', () => one.rollout()?.reason === 'Promoted');
    expect(one.jobs.of('canary')).toHaveLength(2);
    expect(one.jobs.of('stable')).toHaveLength(2);
    expect(new Set(one.jobs.made.map(({ seed }) => seed)).size).toBe(2);
  });

  it('is run again where the cluster took the pod away, three times at most', async () => {
    const runs = new Map<string, number>();
    const one = await play(({ role, name }) => {
      const run = [...runs.keys()].filter((known) => known !== name).length;
      if (role === 'canary') runs.set(name, run);
      return role === 'canary' && run < 2 ? 'Evicted' : passes(98);
    });
    await using world = one.world;
    await tried(one, 'Promoted', 'python');
    expect(one.jobs.of('canary')).toHaveLength(3);
    one.jobs.ends = byRole('Evicted');
    const lost = await tried(one, 'NoGoldenResult', 'go');
    expect(lost.message).toContain('the cluster took away the pod');
    await world.pass(30);
    expect(one.jobs.of('canary')).toHaveLength(6);
  });

  it('is not run again for a revision that it was run against, by any operator', async () => {
    const one = await play(byRole(passes(98)));
    await using world = one.world;
    const first = await tried(one, 'Promoted', 'python');
    world.life?.kill();
    one.jobs.ends = byRole(passes(99));
    await patchPool(world, { experts: [expert('go')] });
    await world.until('the next is promoted', () => one.rollout()?.stable !== first.stable);
    expect(one.jobs.of('stable')).toHaveLength(1);
    expect(one.jobs.of('canary')).toHaveLength(2);
    expect(one.rollout()?.gates?.[0]).toMatchObject({ value: '0.99', baseline: '0.98' });
    await world.rest();
    const left = world.server.objects(resources.jobs).map(({ metadata }) => metadata.labels?.['agentfleet.dev/revision']);
    expect(left).toEqual([one.rollout()?.stable]);
  });
});
