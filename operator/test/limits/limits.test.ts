import { findCondition, leases, ResourceClient, type KubeObject, type Lease, type Resource } from '@agentfleet/kube';
import type { AgentTask, AgentTaskOrder, EnergyModel, ExpertPool } from '@agentfleet/protocol/api';
import { labels } from '@agentfleet/protocol/pool';
import { describe, expect, test } from 'vitest';
import { obedient, playWorkers, succeeds } from '../../src/controllers/agenttask/testing/scriptedWorker.ts';
import { World } from '../crash/world.ts';
import { type Namespace, type Pod, resources } from '../../src/runtime/resources.ts';
import { workerServiceAccount } from '../../src/pools/names.ts';
import { longName } from './atLimit.ts';
import { faultsOf } from './bounds.ts';
import { written } from './written.ts';
import { beyondRunning, largestModel, largestOrder, largestPool, largestTask, longest } from './objects.ts';

const smile = '\u{1F9EA}';

const allFaults = (world: World): readonly string[] => written.flatMap((resource) => world.server.objects(resource).flatMap(faultsOf));

const create = <T extends KubeObject>(world: World, resource: Resource<T>, object: T): Promise<T> =>
  new ResourceClient<T>(world.transport, resource).create(object);

/** A namespace that the largest pool selects, with everything that it names, and an operator. */
async function begin(pool: ExpertPool = largestPool({ 'spec.sandbox.warm': () => [] })): Promise<World> {
  const world = await World.start({ controllerSet: 'all', seed: 1, pool: undefined, injection: () => undefined });
  world.server.createNamespace(longest.namespace);
  const own = largestPool().spec.allowedNamespaces.selector?.matchLabels ?? {};
  await new ResourceClient<Namespace>(world.transport, resources.namespaces).patch(
    { name: longest.namespace },
    { metadata: { labels: own } },
  );
  const runtime = { metadata: { name: longest.className }, handler: 'runc' };
  await create(world, resources.runtimeClasses as Resource, runtime as unknown as KubeObject);
  await create(world, resources.expertPools, pool);
  await addWorker(world);
  await world.startOperator();
  return world;
}

/** One worker that lives in the namespace of the longest name. */
async function addWorker(world: World): Promise<void> {
  const { namespace } = longest;
  const own = { [labels.component]: 'worker', [labels.pool]: longest.name };
  const name = 'w-1';
  await world.pods.create({
    metadata: { name, namespace, labels: own },
    spec: { nodeName: 'n1', serviceAccountName: workerServiceAccount(longest.name), containers: [] },
  });
  const status = { phase: 'Running', conditions: [{ type: 'Ready', status: 'True' }] };
  await world.pods.patch({ namespace, name }, { status }, { subresource: 'status' });
  world.beating.add(name);
  const client = new ResourceClient<Lease>(world.transport, leases);
  world.actors.push(async () => {
    const renewTime = new Date(world.clock.now()).toISOString().replace('Z', '000Z');
    const spec = { holderIdentity: name, leaseDurationSeconds: 20, renewTime };
    await client.apply({ metadata: { name, namespace, labels: { [labels.component]: 'worker' } }, spec }, { fieldManager: name });
  });
}

const task = (world: World): AgentTask => world.server.objects(resources.agentTasks)[0]!;
const pods = (world: World): readonly Pod[] => world.server.objects(resources.pods);
const condition = (object: AgentTask | ExpertPool | EnergyModel, type: string) => findCondition(object.status?.conditions, type);

const posts = (world: World): number => world.server.writes.filter(({ verb, resource }) => verb === 'create' && resource === 'pods').length;

describe('objects at every limit', { timeout: 300_000 }, () => {
  test('a pool at every limit has all that it asks for, and all of it is legal', async () => {
    await using world = await begin(largestPool());
    await create(world, resources.energyModels, largestModel({ 'spec.artifact.uri': () => 'builtin://features-v1' }));
    const own = (): readonly KubeObject[] =>
      world.server.objects(resources.deployments).filter(({ metadata }) => metadata.namespace === longest.namespace);
    // Sixteen experts but a program, one without recording and two behind the gateway; the gateway, the workers and the model.
    await world.until('its Deployments are there', () => own().length >= 14);
    await world.until('a hundred wait', () => world.waiting().length === 100);
    await world.rest();
    expect(allFaults(world)).toEqual([]);
    expect(world.checker.faults).toEqual([]);
    const names = written.flatMap((resource) =>
      world.server.objects(resource).map(({ kind, metadata }) => `${kind} ${metadata.namespace}/${metadata.name}`),
    );
    expect(new Set(names).size).toBe(names.length);
  });

  test.for(['Git', 'Inline', 'ConfigMap'] as const)(
    'a task at every limit with workspace %s runs once, and what it needs is legal',
    async (workspace) => {
      await using world = await begin();
      await create(world, resources.agentTasks, largestTask(workspace));
      playWorkers(world, obedient(succeeds));
      await world.until('its sandbox is there', () => pods(world).some(({ metadata }) => metadata.labels?.[labels.task] === longest.name));
      expect(allFaults(world)).toEqual([]);
      await world.until('it has ended', () => task(world).status?.finished === 'true');
      expect(task(world).status).toMatchObject({ phase: 'Succeeded', assignment: { epoch: 1, attempt: 1 } });
      expect(allFaults(world)).toEqual([]);
      expect(world.checker.faults).toEqual([]);
    },
  );

  test('a sandbox that no API server takes is reported with its answer, and tried again twice a minute', async () => {
    const template = { 'spec.sandbox.template.podMetadata.annotations{}': () => smile.repeat(4096) };
    await using world = await begin(largestPool({ 'spec.sandbox.warm': () => [], ...template }));
    // Each of 32 annotations is at its limit of characters; together they are more bytes than a pod may have.
    await create(world, resources.agentTasks, largestTask('Git'));
    await world.until('it is reported', () => condition(task(world), 'Scheduled')?.reason === 'SandboxRefused');
    const before = posts(world);
    await world.pass(600, 5);
    expect(posts(world) - before).toBeLessThanOrEqual(21);
    expect(condition(task(world), 'Scheduled')?.message).toContain('metadata.annotations: Too long');
    expect(allFaults(world).filter((fault) => !fault.startsWith('AgentTask '))).toEqual([]);
    await world.patch(longest.name, { cancel: 'Terminate' }, longest.namespace);
    await world.until('it has ended', () => task(world).status?.finished === 'true');
  });

  test('words of others are cut between characters, and the status is written once', async () => {
    await using world = await begin();
    await create(world, resources.agentTasks, largestTask('Git'));
    const message = `a${smile.repeat(511)}`;
    playWorkers(
      world,
      obedient(() => ({ outcome: { result: 'Failed', class: 'InvalidInput', reason: 'InvalidInput', message } })),
    );
    await world.until('it is reported', () => condition(task(world), 'Succeeded')?.reason === 'InvalidInput');
    expect(allFaults(world)).toEqual([]);
    const longer = largestTask('Git', { 'spec.poolRef.name': () => longName(253) });
    await create(world, resources.agentTasks, { ...longer, metadata: { ...longer.metadata, name: 'poolless' } });
    await world.until('both are reported', () => world.server.objects(resources.agentTasks).every(({ status }) => status !== undefined));
    const found = world.server.objects(resources.agentTasks).find(({ metadata }) => metadata.name === 'poolless')!;
    expect(condition(found, 'Accepted')?.reason).toBe('PoolNotFound');
    expect(allFaults(world)).toEqual([]);
  });

  test('what a task names and is not there is reported in full, however long the names', async () => {
    await using world = await begin();
    const { 'spec.poolRef.name': _, 'spec.workspace.git.credential': __, 'spec.output.git.credential': ___, ...more } = beyondRunning;
    await create(world, resources.agentTasks, largestTask('Git', more));
    await world.until('it waits', () => condition(task(world), 'Scheduled')?.reason === 'DependencyPending');
    expect(condition(task(world), 'Scheduled')?.message).toHaveLength(1024);
    expect(allFaults(world)).toEqual([]);
    const before = world.written.length;
    await world.pass(120, 5);
    expect(world.written.length).toBe(before);
  });

  /** Longer than labels take: the CRDs refuse it; where an object came before them, the operator must live with it. */
  test('objects with names of 253 characters are reported with the reason why they get nothing, and cost a request now and then', async () => {
    const name = longName(253);
    const named = <T extends KubeObject>(object: T): T => ({ ...object, metadata: { ...object.metadata, name } });
    await using world = await begin(named(largestPool({ 'spec.sandbox.warm': () => [] })));
    await create(world, resources.energyModels, named(largestModel({ 'spec.artifact.uri': () => 'builtin://features-v1' })));
    await create(world, resources.agentTasks, named(largestTask('Git', { 'spec.poolRef.name': () => name })));
    const pool = (): ExpertPool => world.server.objects(resources.expertPools)[0]!;
    const model = (): EnergyModel => world.server.objects(resources.energyModels)[0]!;
    const order = (): AgentTaskOrder => world.server.objects(resources.agentTaskOrders)[0]!;
    await world.until('all are reported', () => [pool(), model(), task(world)].every((one) => condition(one, 'Ready') !== undefined));
    expect(condition(pool(), 'Ready')).toMatchObject({ status: 'False', reason: 'WriteRefused' });
    expect(condition(model(), 'Ready')).toMatchObject({ status: 'False', reason: 'WriteRefused' });
    expect(condition(task(world), 'Ready')).toMatchObject({ status: 'Unknown', reason: 'NamespaceNotPrepared' });
    const before = world.server.requests.filter(({ userAgent }) => userAgent.startsWith('operator')).length;
    await world.pass(300, 5);
    const asked = world.server.requests.filter(({ userAgent }) => userAgent.startsWith('operator')).length - before;
    expect(asked).toBeLessThan(60);
    // The order names the task with all 253 characters.
    await create(world, resources.agentTaskOrders, largestOrder('Cancel', 'ann'));
    await world.until('the order is done', () => order().status?.state === 'Done');
    expect(task(world).status).toMatchObject({ phase: 'Cancelled' });
    expect(world.checker.faults).toEqual([]);
  });
});
