import { controllerReference, createTransport, ResourceClient, type Informer, type KubeObject } from '@agentfleet/kube';
import { startFakeServer } from '@agentfleet/kube/testing';
import type { AgentTask } from '@agentfleet/protocol/api';
import { expect, test } from 'vitest';
import { make } from './make.ts';
import { resources } from './resources.ts';

const volume = (change: object = {}): KubeObject => ({ metadata: { name: 'one-1', namespace: 'team', ...change } });

/** An object of this name is deleted between the refused create and the read that looks whose it is. */
class Vanishing extends ResourceClient {
  override async create(...args: Parameters<ResourceClient['create']>): ReturnType<ResourceClient['create']> {
    try {
      return await super.create(...args);
    } catch (error) {
      await this.remove(volume());
      throw error;
    }
  }
}

const foreign = 'there is a PersistentVolumeClaim one-1 that does not belong to this task';
const going = 'PersistentVolumeClaim one-1 is being deleted, and the cache does not show it yet';

test.each([
  { title: 'new', answer: 'made', wrote: 1 },
  { title: 'there, of the task', before: 'owned', answer: 'made', wrote: 1 },
  { title: 'there, of somebody else', before: 'foreign', answer: foreign, wrote: 0 },
  { title: 'there, and going', before: 'going', answer: going, wrote: 1 },
  { title: 'gone between create and read', before: 'owned', Client: Vanishing, answer: '"one-1" not found', wrote: 0 },
])('an object of a task that is $title', async ({ before, Client = ResourceClient, answer, wrote }) => {
  const server = await startFakeServer({ kinds: [{ resource: resources.persistentVolumeClaims }, { resource: resources.agentTasks }] });
  server.createNamespace('team');
  const transport = createTransport(server.config, { userAgent: 'test/1' });
  const task = await new ResourceClient<AgentTask>(transport, resources.agentTasks).create({
    metadata: { name: 'one', namespace: 'team' },
    spec: {},
  } as AgentTask);
  const owned = { ownerReferences: [controllerReference(task)] };
  const client = new Client(transport, resources.persistentVolumeClaims);
  if (before !== undefined)
    await client.create(volume({ ...(before === 'foreign' ? {} : owned), ...(before === 'going' ? { finalizers: ['a/b'] } : {}) }));
  if (before === 'going') await client.remove(volume());
  const writes: string[] = [];
  const consistency = { wrote: (key: string, _: unknown, { metadata }: KubeObject) => void writes.push(`${key} ${metadata.name}`) };
  const made = make({ client, cache: {} as Informer }, task, volume(owned), consistency, new AbortController().signal);
  expect((await made.catch((error: Error) => error.message)) ?? 'made').toContain(answer);
  expect(writes).toEqual(Array.from({ length: wrote }, () => 'team/one one-1'));
});
