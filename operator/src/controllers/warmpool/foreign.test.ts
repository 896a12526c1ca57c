import { describe, expect, test } from 'vitest';
import { resources } from '../../runtime/resources.ts';
import { Claims } from '../agenttask/execute.ts';
import { Bed } from '../agenttask/testing/bed.ts';
import { isReady } from '../agenttask/testing/look.ts';
import { newPool, newTask } from '../agenttask/testing/objects.ts';

const names = (bed: Bed): readonly string[] => bed.waiting().map(({ metadata }) => metadata.name);

async function withWarm(replicas: number): Promise<Bed> {
  const bed = await Bed.start(newPool({ sandbox: { warm: [{ namespace: 'team', replicas, maxAgeSeconds: 3600 }] } }));
  const ready = (): boolean => bed.waiting().every(({ status }) => status?.containerStatuses?.every(({ ready }) => ready) === true);
  await bed.until('they wait', () => bed.waiting().length === replicas && ready());
  return bed;
}

describe('pods of another maker', () => {
  /** A pod with everything that one may write who may create pods, ready as the first that waits is. */
  async function plant(bed: Bed, name: string): Promise<void> {
    const [real] = bed.waiting();
    const { labels: own, annotations } = real!.metadata;
    await bed.pods.create({ metadata: { name, namespace: 'team', labels: own!, annotations: annotations! }, spec: real!.spec! });
    await bed.pods.patch({ namespace: 'team', name }, { status: real!.status! }, { subresource: 'status' });
  }

  test('is never taken, whatever its labels say, and goes', async () => {
    await using bed = await withWarm(1);
    const [real] = names(bed);
    await plant(bed, 'a-planted-one');
    await bed.create(newTask('one'));
    await bed.until('the task has a sandbox', isReady(bed));
    expect(bed.task('one').status?.assignment?.sandbox).toBe(real);
    await bed.until('the planted one is gone', () => bed.sandboxes().every(({ metadata }) => metadata.name !== 'a-planted-one'));
  });

  test('is not taken by an operator that knows nothing but what is written, which knows its own', async () => {
    await using bed = await withWarm(2);
    const before = names(bed);
    await bed.stopOperator();
    await plant(bed, 'a-planted-one');
    await bed.startOperator();
    for (const name of ['one', 'two']) await bed.create(newTask(name));
    await bed.until('both have a sandbox', () => isReady(bed, 'one')() && isReady(bed, 'two')());
    expect(new Set(['one', 'two'].map((name) => bed.task(name).status?.assignment?.sandbox))).toEqual(new Set(before));
    await bed.until('the planted one is gone', () => bed.sandboxes().every(({ metadata }) => metadata.name !== 'a-planted-one'));
  });

  test('has replaced a real one under its name between look and claim: it is not claimed', async () => {
    await using bed = await withWarm(1);
    const [real] = bed.waiting();
    await bed.stopOperator();
    await bed.pods.delete(real!.metadata, { gracePeriodSeconds: 0 });
    const { name, namespace, labels: own, annotations } = real!.metadata;
    await bed.pods.create({ metadata: { name, namespace: namespace!, labels: own!, annotations: annotations! }, spec: real!.spec! });
    await bed.pods.patch(real!.metadata, { status: real!.status! }, { subresource: 'status' });
    await bed.create(newTask('one'));
    expect(await new Claims(bed.pods).claim(bed.task('one'), real!, new AbortController().signal)).toEqual({ kind: 'Taken' });
  });

  test('is another image in a real one: it is not taken', async () => {
    await using bed = await withWarm(1);
    const [real] = bed.waiting();
    bed.server.onRequest = ({ verb, resource }) => (verb === 'delete' && resource === 'pods' ? { kind: 'before' } : undefined);
    const containers = real!.spec!.containers!.map((container) => ({ ...container, image: 'hostile:1' }));
    await bed.pods.patch(real!.metadata, { spec: { containers } });
    await bed.create(newTask('one'));
    await bed.until('the task has its own', isReady(bed));
    expect(bed.task('one').status?.assignment).toMatchObject({ sandbox: 'one-1', warm: false });
  });

  test('and a record without a pool is removed', async () => {
    await using bed = await withWarm(1);
    const records = (): number =>
      bed.server.objects(resources.configMaps).filter(({ metadata }) => metadata.namespace === 'agentfleet-system').length;
    expect(records()).toBe(1);
    await bed.transport.request({ method: 'DELETE', path: '/apis/agentfleet.dev/v1alpha1/namespaces/platform/expertpools/coding' });
    await bed.until('nobody waits', () => bed.waiting().length === 0);
    await bed.until('the record is gone', () => records() === 0);
  });
});
