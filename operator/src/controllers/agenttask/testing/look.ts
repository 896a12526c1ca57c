import { findCondition, type Condition } from '@agentfleet/kube';
import type { AgentTask } from '@agentfleet/protocol/api';
import { expect } from 'vitest';
import type { Bed } from './bed.ts';
import { newTask } from './objects.ts';

export function condition(task: AgentTask, type: string): Condition | undefined {
  return findCondition(task.status?.conditions, type);
}

/** `status/reason` of a condition; `-/-` when there is none. */
export function reported(task: AgentTask, type: string): string {
  const { status = '-', reason = '-' } = condition(task, type) ?? {};
  return `${status}/${reason}`;
}

/** Waits until the worker has reported of its work. */
export const atWork = (bed: Bed, name = 'one'): Promise<void> => bed.until(`${name} works`, () => bed.task(name).status?.run !== undefined);

/** Creates the task `one`, and waits until its worker has reported of its work. */
export async function begin(bed: Bed, spec: Readonly<Record<string, unknown>> = {}): Promise<void> {
  await bed.create(newTask('one', spec));
  await atWork(bed);
}

/** Waits for the end, and sees that no promise was broken on the way. */
export async function finish(bed: Bed, name = 'one'): Promise<AgentTask> {
  await bed.until(`${name} has ended`, () => bed.task(name).status?.finished === 'true');
  await bed.pass(1);
  expect(bed.invariants.faults).toEqual([]);
  return bed.task(name);
}

export const isReady =
  (bed: Bed, name = 'one') =>
  (): boolean =>
    condition(bed.task(name), 'SandboxReady')?.status === 'True';
