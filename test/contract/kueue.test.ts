// Tasks with a queue name of Kueue, on a real API server with Kueue's own definitions; the test plays its admission. Kueue's controller
// decides in kueueController.ts, with AGENTFLEET_FULL=1.
import { findCondition, mergeConditions, type NewCondition } from '@agentfleet/kube';
import { afterAll, beforeAll, describe, expect, it } from 'vitest';
import { resources, type ResourceFlavor } from '../../operator/src/runtime/resources.ts';
import { connect, enabled, until } from './api/server.ts';
import { applyQueues, documented, inQueue, serveKueue, usage, workloadOf as findWorkload, underController } from './kueueController.ts';
import { TaskBed } from './taskBed.ts';

const snapshots = { initial: 's0001' };

describe.runIf(enabled)('tasks that Kueue admits', () => {
  let bed: TaskBed;
  let withdraw: () => Promise<void>;

  beforeAll(async () => {
    const server = await connect();
    withdraw = await serveKueue(server);
    bed = await TaskBed.start(undefined, { kueue: true });
    await applyQueues(server, bed.namespace);
  }, 120_000);
  afterAll(async () => {
    await bed.close();
    await withdraw();
  }, 120_000);

  const workloadOf = (task: string) => findWorkload(bed, task);
  const says = async (task: string, type: string): Promise<string> => {
    const { status } = findCondition((await workloadOf(task))?.status?.conditions, type) ?? {};
    return status ?? '-';
  };
  /** Plays Kueue. */
  const decides = async (task: string, changes: readonly NewCondition[], more: object = {}): Promise<void> => {
    const { metadata, status } = (await workloadOf(task))!;
    const kept = (status?.conditions ?? []).filter(({ type }) => !changes.some((change) => change.type === type));
    const conditions = mergeConditions(status?.conditions, [...kept, ...changes], Date.now());
    await bed.client(resources.workloads).patch(metadata, { status: { ...more, conditions } }, { subresource: 'status' });
  };
  const condition = (type: string, status: 'True' | 'False', reason: string): NewCondition => ({
    type,
    status,
    reason,
    message: `${reason}, says Kueue`,
  });
  const admits = (task: string): Promise<void> => {
    const flavors = { cpu: 'default', memory: 'default' };
    const admission = { clusterQueue: 'agents', podSetAssignments: [{ name: 'main', flavors, count: 1 }] };
    return decides(
      task,
      [
        condition('QuotaReserved', 'True', 'QuotaReserved'),
        condition('Admitted', 'True', 'Admitted'),
        condition('Evicted', 'False', 'QuotaReserved'),
      ],
      { admission },
    );
  };
  const phase = async (task: string): Promise<string | undefined> => (await bed.task(task)).status?.phase;
  const readyMessage = async (task: string): Promise<string> =>
    findCondition((await bed.task(task)).status?.conditions, 'Ready')?.message ?? '';

  it('wait without a sandbox, begin on the nodes of the flavor, stop when they are evicted, and continue', async () => {
    const { task } = await documented(bed.namespace);
    const spec = { ...(task as unknown as { spec: object }).spec, poolRef: { name: 'coding' } };
    await bed
      .client<ResourceFlavor>(resources.resourceFlavors)
      .patch({ name: 'default' }, { spec: { nodeLabels: { 'contract.invalid/kueue': 'yes' } } });
    await bed.create('with-quota', spec, inQueue);
    await until('it asks', async () => (await workloadOf('with-quota')) !== undefined);
    expect(await workloadOf('with-quota')).toMatchObject({
      metadata: { ownerReferences: [{ kind: 'AgentTask', name: 'with-quota', controller: true }] },
      spec: {
        queueName: 'tasks',
        priority: 10,
        active: true,
        podSets: [
          {
            name: 'main',
            count: 1,
            template: {
              spec: {
                containers: [
                  { name: 'keeper', resources: { requests: { cpu: '50m', memory: '96Mi' } } },
                  { name: 'tools', resources: { requests: { cpu: '1', memory: '1Gi' } } },
                ],
              },
            },
          },
        ],
      },
    });
    await until('it waits', async () => (await bed.reported('with-quota', 'Scheduled')) === 'False/AdmissionPending');
    await decides('with-quota', [condition('QuotaReserved', 'False', 'Pending')]);
    await until('it says why', async () => (await readyMessage('with-quota')).includes('Pending, says Kueue'));
    expect(await phase('with-quota')).toBe('Queued');
    expect(await bed.sandboxes('with-quota')).toEqual([]);
    expect((await bed.task('with-quota')).status?.clock).toBeUndefined();

    await admits('with-quota');
    await bed.startSandbox('with-quota');
    const [pod] = await bed.sandboxes('with-quota');
    expect(pod?.spec).toMatchObject({ nodeSelector: { 'contract.invalid/kueue': 'yes' } });
    await until('Kueue hears of it', async () => (await says('with-quota', 'PodsReady')) === 'True');
    await bed.report('with-quota', { usage, snapshots });

    await decides('with-quota', [condition('Evicted', 'True', 'Preempted')]);
    await until('it is to rest', async () => (await bed.task('with-quota')).status?.assignment?.directive === 'Quiesce');
    expect(await bed.reported('with-quota', 'Scheduled')).toBe('False/Evicted');
    expect(await phase('with-quota')).toBe('Queued');
    expect(await says('with-quota', 'QuotaReserved')).toBe('True');
    await bed.report('with-quota', { usage, snapshots, quiescedAt: '2030-01-01T00:00:00Z' });
    await until('its quota is given back', async () => (await says('with-quota', 'QuotaReserved')) === 'False');
    expect(await bed.sandboxes('with-quota')).toEqual([]);
    const { status } = (await workloadOf('with-quota'))!;
    expect(status?.admission).toBeUndefined();
    expect(findCondition(status?.conditions, 'Requeued')).toMatchObject({ status: 'True', reason: 'Preempted' });

    await admits('with-quota');
    await bed.startSandbox('with-quota');
    expect((await bed.task('with-quota')).status).toMatchObject({ assignment: { attempt: 1, epoch: 2 } });
    await bed.report('with-quota', { usage, snapshots, outcome: { result: 'Succeeded', reason: 'ChecksPassed' } });
    await until('it has ended', async () => (await phase('with-quota')) === 'Succeeded');
    await until('Kueue hears of it', async () => (await says('with-quota', 'Finished')) === 'True');
    expect(await bed.sandboxes('with-quota')).toEqual([]);
  });

  it('give quota back when they are suspended, and ask no more without the label', async () => {
    await bed.create('paused', {}, inQueue);
    await until('it asks', async () => (await workloadOf('paused')) !== undefined);
    const patch = (change: object) => bed.client(resources.agentTasks).patch({ namespace: bed.namespace, name: 'paused' }, change);
    await patch({ spec: { suspend: true } });
    await until('its Workload is stopped', async () => (await workloadOf('paused'))?.spec?.active === false);
    await patch({ spec: { suspend: false } });
    await until('its Workload goes on', async () => (await workloadOf('paused'))?.spec?.active === true);
    await patch({ metadata: { labels: { 'kueue.x-k8s.io/queue-name': null } } });
    await until('its Workload is gone', async () => (await workloadOf('paused')) === undefined);
    await bed.startSandbox('paused');
  });
});

describe.runIf(enabled)('tasks with a queue name on a cluster without Kueue', () => {
  it('are refused, with a cure', async () => {
    const bed = await TaskBed.start(undefined, { kueue: true });
    try {
      await bed.create('early', {}, inQueue);
      await until('it is refused', async () => (await bed.reported('early', 'Accepted')) === 'False/KueueUnavailable');
      const { status } = await bed.task('early');
      expect(findCondition(status?.conditions, 'Ready')?.message).toContain('install Kueue 0.15 or later');
      expect(await bed.sandboxes('early')).toEqual([]);
    } finally {
      await bed.close();
    }
  });
});

// In this file, because definitions belong to the whole cluster.
describe.runIf(enabled && process.env['AGENTFLEET_FULL'] === '1')("tasks under Kueue's controller", underController);
