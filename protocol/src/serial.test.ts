import { expect, test } from 'vitest';
import { Serial } from './serial.ts';

test('one at a time, in order, also after a failure', async () => {
  const serial = new Serial();
  const seen: string[] = [];
  const work =
    (name: string, fails = false) =>
    async (): Promise<void> => {
      seen.push(`${name}(`);
      await Promise.resolve();
      seen.push(`)${name}`);
      if (fails) throw new Error(name);
    };
  const runs = [serial.run(work('a', true)), serial.run(work('b')), serial.run(work('c'))];
  expect((await Promise.allSettled(runs)).map(({ status }) => status)).toEqual(['rejected', 'fulfilled', 'fulfilled']);
  expect(seen).toEqual(['a(', ')a', 'b(', ')b', 'c(', ')c']);
});

test('a job cancelled while waiting does not run', async () => {
  const serial = new Serial();
  const stop = new AbortController();
  const first = serial.run(() => Promise.resolve(stop.abort(new Error('gone'))));
  const second = serial.run(() => Promise.reject(new Error('it ran')), stop.signal);
  expect(serial.busy).toBe(true);
  await expect(second).rejects.toThrow('gone');
  await first;
  await serial.idle();
  expect(serial.busy).toBe(false);
});
