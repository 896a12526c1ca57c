// The documented manifests for Flux, applied by its own kustomize-controller on a real API server: with AGENTFLEET_FULL=1. Workers and the
// kubelet are played. Each test goes on from the one before.
import { setTimeout as delay } from 'node:timers/promises';
import { afterAll, beforeAll, describe, expect, it } from 'vitest';
import { collection, enabled, until } from './api/server.ts';
import { documented, FluxBed } from './kustomizeBed.ts';
import type { TaskBed } from './taskBed.ts';

const usage = { tokensIn: 0, tokensOut: 0, toolCalls: 3, cpuMillis: 40, wallSeconds: 5, candidates: 6, vetoes: 0, backtracks: 1 };
const snapshots = { initial: 's0001' };
const action = `sha256:${'a'.repeat(64)}`;
const ofFlux = 'kustomize.toolkit.fluxcd.io/name';
const full = enabled && process.env['AGENTFLEET_FULL'] === '1';

describe.runIf(full)("tasks under Flux's kustomize-controller", () => {
  let flux: FluxBed;
  let bed: TaskBed;

  beforeAll(async () => {
    flux = await FluxBed.start();
    bed = flux.bed;
  }, 1_800_000);
  afterAll(() => flux.close(), 120_000);

  const listed = async (path: string): Promise<Readonly<Record<string, string>>> => {
    const { body } = await bed.server.ask('GET', `${path}?labelSelector=${ofFlux}`);
    return Object.fromEntries(body.items!.map(({ metadata }) => [metadata.name, metadata.uid]));
  };
  const tasks = () => listed(collection(bed.namespace, 'agenttasks'));
  const reports = (name: string, type: string): Promise<void> =>
    until(`${name}: ${type}`, async () => (await bed.reported(name, type)).startsWith('True/'));
  const first = { [documented]: { ttlSecondsAfterFinished: 1 }, resting: { suspend: true }, asks: {} };

  it('is not ready while one runs, and is when it has succeeded, whoever rests or waits for a person', async () => {
    const revision = await flux.push(first);
    await flux.isHealthy('pools', revision);
    await flux.waitsForHealth(revision);
    await bed.startSandbox('asks');
    const expires = `${new Date(Date.now() + 600_000).toISOString().slice(0, 19)}Z`;
    await bed.report('asks', { usage, snapshots, pendingApproval: { action, summary: 'git push', expires } });
    await reports('asks', 'AwaitingApproval');
    await reports('resting', 'Suspended');
    await bed.startSandbox(documented);
    // It looks every five seconds.
    await delay(6000);
    expect(await flux.condition('tasks', 'Ready')).toMatchObject({ status: 'Unknown' });
    await bed.report(documented, { usage, snapshots, outcome: { result: 'Succeeded', reason: 'ChecksPassed', message: 'passed' } });
    await flux.isHealthy('tasks', revision);
    expect((await bed.task(documented)).status?.phase).toBe('Succeeded');
    expect(Object.keys(await tasks()).toSorted()).toEqual([documented, 'asks', 'resting'].toSorted());
    await until('its time to live is ignored', () =>
      Promise.resolve(bed.events.some(({ reason, note }) => reason === 'TTLIgnored' && note.includes('remove it from Git'))),
    );
  }, 120_000);

  it('is told why another goal is refused, and neither deletes nor makes anything', async () => {
    const before = await tasks();
    await flux.push({ [documented]: { ...first[documented], goal: 'Make it faster.' }, asks: {}, another: { suspend: true } });
    await flux.says('tasks', 'Ready', 'False', 'spec.goal is immutable; create a new object to change it');
    expect((await flux.condition('tasks', 'Ready'))?.message).toContain(`AgentTask/${bed.namespace}/${documented}`);
    expect(await tasks()).toEqual(before);
    await flux.isHealthy('tasks', await flux.push(first));
    expect(await tasks()).toEqual(before);
    expect((await bed.task(documented)).metadata.generation).toBe(1);
  }, 120_000);

  it('prunes a task without a file and nothing that the operator made, and brings a change to a task that runs', async () => {
    const { resting, ...kept } = await tasks();
    expect(resting).toBeDefined();
    const { resting: _, ...rest } = first;
    await flux.waitsForHealth(await flux.push({ ...rest, runs: { attempts: { max: 1 } } }));
    const { runs, ...others } = await tasks();
    expect(others).toEqual(kept);
    await bed.startSandbox('runs');
    await bed.report('runs', { usage, snapshots });
    const [pod] = await bed.sandboxes('runs');

    const revision = await flux.push({ ...rest, runs: { attempts: { max: 1 }, suspend: true } });
    await until('it is to rest', async () => (await bed.task('runs')).status?.assignment?.directive === 'Quiesce');
    expect((await tasks())['runs']).toBe(runs);
    expect((await bed.sandboxes('runs'))[0]?.metadata.uid).toBe(pod?.metadata.uid);
    for (const plural of ['pods', 'configmaps', 'secrets', 'serviceaccounts', 'persistentvolumeclaims'])
      expect(await listed(`/api/v1/namespaces/${bed.namespace}/${plural}`)).toEqual({});
    await bed.report('runs', { usage, snapshots, quiescedAt: '2030-01-01T00:00:00Z' });
    await flux.isHealthy('tasks', revision);
  }, 120_000);

  it('names the one that failed, and is ready again without it', async () => {
    await flux.waitsForHealth(await flux.push({ asks: {}, fails: { attempts: { max: 1 } } }));
    await bed.startSandbox('fails');
    const outcome = { result: 'Failed', class: 'CheckFailed', reason: 'ChecksFailed' } as const;
    await bed.report('fails', { usage, snapshots, outcome });
    await until('it is to be undone', async () => (await bed.task('fails')).status?.assignment?.directive === 'Rollback');
    await bed.report('fails', { usage, snapshots, outcome, rollback: { snapshot: snapshots.initial, verified: true } });
    await until('it has failed', async () => (await bed.task('fails')).status?.phase === 'Failed');
    await flux.says('tasks', 'Ready', 'False', `AgentTask/${bed.namespace}/fails status: 'Failed'`);
    expect(await flux.condition('tasks', 'Ready')).toMatchObject({ reason: 'HealthCheckFailed' });
    await flux.isHealthy('tasks', await flux.push({ asks: {} }));
    expect(Object.keys(await tasks())).toEqual(['asks']);
  }, 120_000);
});
