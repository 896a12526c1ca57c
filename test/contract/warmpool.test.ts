// Sandboxes that wait, on a real API server: its optimistic writes, its rules for metadata, its garbage collector.
import type { ExpertPool } from '@agentfleet/protocol/api';
import { labels } from '@agentfleet/protocol/pool';
import { afterAll, beforeAll, describe, expect, it } from 'vitest';
import { Claims } from '../../operator/src/controllers/agenttask/execute.ts';
import { sandboxFinalizer } from '@agentfleet/protocol/pool';
import { type Pod, resources } from '../../operator/src/runtime/resources.ts';
import { enabled, until } from './api/server.ts';
import { TaskBed } from './taskBed.ts';

const waitingLabel = `${labels.warm}=true`;

describe.runIf(enabled)('sandboxes that wait', () => {
  let bed: TaskBed;

  beforeAll(async () => {
    bed = await TaskBed.start((namespace) => ({ warm: [{ namespace, replicas: 2 }] }));
  });
  afterAll(() => bed.close());

  const waiting = async (): Promise<Pod[]> =>
    (await bed.pods(waitingLabel)).filter(({ metadata }) => metadata.deletionTimestamp === undefined);
  const startWaiting = async (): Promise<readonly string[]> => {
    await until('two wait', async () => (await waiting()).length === 2);
    for (const pod of await waiting()) await bed.startPod(pod);
    return (await waiting()).map(({ metadata }) => metadata.name);
  };
  const patchPool = (spec: object): Promise<ExpertPool> =>
    bed.client<ExpertPool>(resources.expertPools).patch({ namespace: bed.namespace, name: 'coding' }, { spec });

  it('a task takes one in one write, and is ready with the next; others are made', async () => {
    const names = await startWaiting();
    const before = bed.writes.length;
    await bed.create('quick');
    await until('it is ready', async () => (await bed.reported('quick', 'SandboxReady')) === 'True/Ready');
    const writes = bed.writes.slice(before).filter((write) => !write.startsWith('POST') && !write.includes('/configmaps/'));
    const { assignment } = (await bed.task('quick')).status!;
    expect(names).toContain(assignment?.sandbox);
    expect(assignment).toMatchObject({ warm: true, epoch: 1 });
    expect(writes.map((write) => write.replace(/ .*\//, ' …/'))).toEqual([`PATCH …/${assignment!.sandbox}`, 'PATCH …/status']);
    const [taken] = await bed.sandboxes('quick');
    expect(taken?.metadata.finalizers).toEqual([sandboxFinalizer]);
    expect(taken?.metadata.ownerReferences).toMatchObject([{ kind: 'AgentTask', name: 'quick', controller: true }]);
    await until('two wait again', async () => (await waiting()).length === 2);
  });

  it('of many tasks none shares its sandbox with another one, and of two writers one gets the pod', async () => {
    const names = await startWaiting();
    const many = ['m0', 'm1', 'm2', 'm3', 'm4'];
    await Promise.all(many.map((name) => bed.create(name)));
    const assigned = async (): Promise<(string | undefined)[]> =>
      Promise.all(many.map(async (name) => (await bed.task(name)).status?.assignment?.sandbox));
    await until('all are assigned', async () => (await assigned()).every((sandbox) => sandbox !== undefined));
    const sandboxes = await assigned();
    expect(new Set(sandboxes).size).toBe(many.length);
    expect(names.every((name) => sandboxes.includes(name))).toBe(true);

    await patchPool({ workers: { replicas: 0, concurrency: 1 } });
    await startWaiting();
    const [pod] = await waiting();
    const rivals = await Promise.all(many.slice(0, 2).map((name) => bed.task(name)));
    const claims = rivals.map(() => new Claims(bed.client<Pod>(resources.pods)));
    const { signal } = new AbortController();
    const answers = await Promise.all(rivals.map((task, at) => claims[at]!.claim(task, pod!, signal)));
    expect(answers.map(({ kind }) => kind).sort()).toEqual(['Claimed', 'Taken']);
  });

  it('they go with the pool, and those that tasks have taken stay', async () => {
    await until('two wait', async () => (await waiting()).length === 2);
    await bed.client(resources.expertPools).delete({ namespace: bed.namespace, name: 'coding' });
    await until('nobody waits', async () => (await waiting()).length === 0);
    expect(await bed.sandboxes('quick')).toHaveLength(1);
  });
});
