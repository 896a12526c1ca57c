import { ResourceClient } from '@agentfleet/kube';
import type { AgentTask, ExpertPool } from '@agentfleet/protocol/api';
import { expect } from 'vitest';
import { newTask } from '../../../src/controllers/agenttask/testing/objects.ts';
import { playWorkers, usage, type Script } from '../../../src/controllers/agenttask/testing/scriptedWorker.ts';
import { resources } from '../../../src/runtime/resources.ts';
import type { World } from '../world.ts';

/** Changes the spec of the pool. */
export const patchPool = (world: World, spec: object): Promise<ExpertPool> =>
  new ResourceClient<ExpertPool>(world.transport, resources.expertPools).patch({ namespace: 'platform', name: 'coding' }, { spec });

/** Waits until the worker has reported of its work. */
export const works = (world: World, name = 'one'): Promise<void> =>
  world.until(`${name} works`, () => world.task(name).status?.run !== undefined);

/** Waits until a task has a phase. */
export const phase = (world: World, wanted: string, name = 'one'): Promise<void> =>
  world.until(`${name} is ${wanted}`, () => world.task(name).status?.phase === wanted);

/** Waits until tasks have ended and no sandbox is left but those that wait. */
export async function over(world: World, ...names: readonly string[]): Promise<void> {
  for (const name of names) await world.until(`${name} has ended`, () => world.task(name).status?.finished === 'true');
  await world.until('no sandbox is left', () => world.sandboxes().length === world.waiting().length);
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
