import { spawn } from 'node:child_process';
import { execPath } from 'node:process';
import { setTimeout as delay } from 'node:timers/promises';
import { afterEach, describe, expect, it } from 'vitest';
import { Logger } from '../logger.ts';
import type { ChildPlan } from './plan.ts';
import { Supervisor } from './supervisor.ts';

const planOf = (name: string, gpus: readonly number[]): ChildPlan => ({ name, port: 1, environment: {}, gpus });
const silent = new Logger(
  'silent',
  () => {},
  () => 0,
);

let supervisor: Supervisor | null = null;
afterEach(async () => {
  await supervisor?.stop('SIGTERM');
  supervisor = null;
});

/** Processes that only live, and are ready when the test says so. */
function start(plans: readonly ChildPlan[], patienceMs: number) {
  const started: string[] = [];
  const asked = new Map<string, number>();
  const ready = new Set<string>();
  supervisor = new Supervisor({
    plans,
    spawn: ({ name }) => {
      started.push(name);
      return spawn(execPath, ['-e', 'setInterval(() => {}, 1000)'], { stdio: 'ignore' });
    },
    ask: ({ name }) => {
      asked.set(name, (asked.get(name) ?? 0) + 1);
      return Promise.resolve(ready.has(name));
    },
    patienceMs,
    deadlineMs: 10_000,
    logger: silent,
    now: () => performance.now(),
  });
  return { started, asked, ready };
}

async function until(what: string, holds: () => boolean): Promise<void> {
  for (let look = 0; look < 1000; look += 1) {
    if (holds()) return;
    await delay(10);
  }
  throw new Error(`never came true: ${what}`);
}

describe('servers of one GPU', () => {
  const plans = [planOf('first', [0]), planOf('second', [0, 1]), planOf('other', [2])];

  it('start one after another; those of other GPUs do not wait', async () => {
    const { started, asked, ready } = start(plans, 600_000);
    await until('the first one was asked often', () => (asked.get('first') ?? 0) >= 3);
    expect(started).toEqual(['first', 'other']);
    ready.add('first');
    await until('the second one starts', () => started.includes('second'));
  });

  it('do not wait for one that never gets ready', async () => {
    const { started } = start(plans, 50);
    await until('the second one starts', () => started.includes('second'));
  });
});
