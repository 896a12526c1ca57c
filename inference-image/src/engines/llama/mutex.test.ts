import { expect, test } from 'vitest';
import { Mutex } from './engine.ts';

const { signal } = new AbortController();

test('one at a time, in order, also after a failure', async () => {
  const mutex = new Mutex();
  const seen: string[] = [];
  const work =
    (name: string, fails = false) =>
    async (): Promise<void> => {
      seen.push(`${name}(`);
      await Promise.resolve();
      seen.push(`)${name}`);
      if (fails) throw new Error(name);
    };
  const runs = [mutex.run(signal, work('a', true)), mutex.run(signal, work('b')), mutex.run(signal, work('c'))];
  expect((await Promise.allSettled(runs)).map(({ status }) => status)).toEqual(['rejected', 'fulfilled', 'fulfilled']);
  expect(seen).toEqual(['a(', ')a', 'b(', ')b', 'c(', ')c']);
});

test('a job cancelled while waiting does not run', async () => {
  const mutex = new Mutex();
  const stop = new AbortController();
  const first = mutex.run(signal, () => Promise.resolve(stop.abort(new Error('gone'))));
  const second = mutex.run(stop.signal, () => Promise.reject(new Error('it ran')));
  await expect(second).rejects.toThrow('gone');
  await first;
});
