import { findCondition, isNotFound, ResourceClient, type Resource } from '@agentfleet/kube';
import type { AgentTask, EnergyModel, ExpertPool } from '@agentfleet/protocol/api';
import { expect } from 'vitest';
import { newTask } from '../../../src/controllers/agenttask/testing/objects.ts';
import { obedient, playWorkers, usage, works as working, type Script } from '../../../src/controllers/agenttask/testing/scriptedWorker.ts';
import { resources } from '../../../src/runtime/resources.ts';
import type { World } from '../world.ts';

export const pools = (world: World): readonly ExpertPool[] => world.server.objects(resources.expertPools);
export const models = (world: World): readonly EnergyModel[] => world.server.objects(resources.energyModels);

export const modelClient = ({ transport }: World): ResourceClient<EnergyModel> => new ResourceClient(transport, resources.energyModels);

/** Changes the spec of the pool. */
export const patchPool = (world: World, spec: object): Promise<ExpertPool> =>
  new ResourceClient<ExpertPool>(world.transport, resources.expertPools).patch({ namespace: 'platform', name: 'coding' }, { spec });

export const isReady = (object: ExpertPool | EnergyModel | undefined): boolean =>
  object?.status?.observedGeneration === object?.metadata.generation &&
  findCondition(object?.status?.conditions, 'Ready')?.status === 'True';

/** Deletes what may be gone already. */
export async function remove(world: World, resource: Resource, name: string, namespace = 'platform'): Promise<void> {
  await new ResourceClient(world.transport, resource).delete({ namespace, name }).catch((error: unknown) => {
    if (!isNotFound(error)) throw error;
  });
}

/** Has every server report this artifact. */
export function answerWith(world: World, artifactDigest: string): void {
  world.ask = () => Promise.resolve({ modelDigest: `sha256:${'f'.repeat(64)}`, shadow: null, about: { artifactDigest } });
}

/** Obeys, and does not end by itself. */
export const keepsWorking = obedient(() => working);

/** Waits until the worker has reported of its work. */
export const works = (world: World, name = 'one'): Promise<void> =>
  world.until(`${name} works`, () => world.task(name).status?.run !== undefined);

/** Waits until a task has a phase. */
export const phase = (world: World, wanted: string, name = 'one'): Promise<void> =>
  world.until(`${name} is ${wanted}`, () => world.task(name).status?.phase === wanted);

/** Waits until tasks have ended. */
export async function finished(world: World, ...names: readonly string[]): Promise<void> {
  for (const name of names) await world.until(`${name} has ended`, () => world.task(name).status?.finished === 'true');
}

/** Waits until tasks have ended and no sandbox is left but those that wait. */
export async function over(world: World, ...names: readonly string[]): Promise<void> {
  await finished(world, ...names);
  await world.until('no sandbox is left', () => world.sandboxes().length === world.waiting().length);
}

/** Waits until one sandbox waits for a task. */
export const oneWaits = (world: World): Promise<void> => world.until('one waits', () => world.waiting().length === 1);

/** Has the task suspended, and waits until it is. */
export async function suspended(world: World): Promise<void> {
  await world.patch('one', { suspend: true });
  await world.until('it holds no sandbox', () => world.sandboxes().length === 0 && world.task('one').status?.phase === 'Suspended');
}

/** A task whose worker follows a script. */
export async function begin(world: World, script: Script, spec: Readonly<Record<string, unknown>> = {}): Promise<void> {
  playWorkers(world, script);
  await world.create(newTask('one', spec));
}

/** Expects an end with so many attempts, each of which has been paid for once. */
export function expectEnd(task: AgentTask, wanted: object, reasons: readonly string[]): void {
  expect(task.status).toMatchObject(wanted);
  expect(task.status?.attempts?.map(({ reason }) => reason)).toEqual(reasons);
  const paid = task.status?.totals?.usage?.toolCalls ?? 0;
  const used = (task.status?.attempts ?? []).filter((attempt) => attempt.usage !== undefined).length;
  expect(paid).toBe(used * usage.toolCalls);
}

/** Expects that tasks have succeeded at their first attempt, each under one epoch. */
export function expectSuccess(world: World, ...names: readonly string[]): void {
  for (const name of names) expectEnd(world.task(name), { phase: 'Succeeded', assignment: { epoch: 1 } }, ['ChecksPassed']);
}
