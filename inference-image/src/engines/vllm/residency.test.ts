import { expect, test } from 'vitest';
import { Residency } from './residency.ts';

const { signal } = new AbortController();

/** An engine that records its calls, and a clock under control of the test. */
function bed() {
  const events: string[] = [];
  const errors: unknown[] = [];
  let sleeping = false;
  let due: (() => void) | undefined;
  const control = {
    isSleeping: () => Promise.resolve(sleeping),
    sleep: () => (events.push('sleep'), (sleeping = true), Promise.resolve()),
    wake: () => (events.push('wake'), (sleeping = false), Promise.resolve()),
  };
  const timer = (_: number, callback: () => void) => ((due = callback), () => (due = undefined));
  const residency = new Residency({ control, idleMs: 1, timer, onError: (error) => errors.push(error) });
  const idle = async (): Promise<void> => {
    due?.();
    await new Promise((resolve) => setImmediate(resolve));
  };
  return { reported: events, errors, control, residency, idle, armed: () => due !== undefined };
}

test('an idle engine sleeps, and is woken once for all callers', async () => {
  const { residency, reported, idle } = bed();
  await idle();
  await Promise.all([1, 2, 3].map(() => residency.awake(() => Promise.resolve(reported.push('run')), signal)));
  expect(reported).toEqual(['sleep', 'wake', 'run', 'run', 'run']);
  residency.close();
});

test('it never sleeps under a request, however long that takes', async () => {
  const { residency, reported, idle, armed } = bed();
  let finish: () => void = () => undefined;
  const answer = residency.awake(() => new Promise<void>((resolve) => (finish = resolve)), signal);
  await idle();
  expect(armed()).toBe(false);
  expect(reported).toEqual([]);
  finish();
  await answer;
  await idle();
  expect(reported).toEqual(['sleep']);
  residency.close();
  expect(armed()).toBe(false);
});

test('a request in the moment in which it would fall asleep finds it awake', async () => {
  const { residency, reported, idle } = bed();
  const slept = idle();
  await residency.awake(() => Promise.resolve(reported.push('run')), signal);
  await slept;
  expect(reported).toEqual(['run']);
  residency.close();
});

test('an engine that does not fall asleep is reported, and one that does not wake is the error of the caller', async () => {
  const { residency, control, errors, idle } = bed();
  control.sleep = () => Promise.reject(new Error('busy'));
  await idle();
  expect(errors).toEqual([new Error('busy')]);
  control.isSleeping = () => Promise.reject(new Error('away'));
  await expect(residency.awake(() => Promise.resolve(1), signal)).rejects.toThrow('away');
  control.isSleeping = () => Promise.resolve(false);
  await expect(residency.awake(() => Promise.resolve(1), signal)).resolves.toBe(1);
  residency.close();
});
