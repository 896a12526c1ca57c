import { spawn } from 'node:child_process';
import { once } from 'node:events';
import { expect, test } from 'vitest';
import { kill } from '../../../hack/sandbox/index.ts';
import { initOf } from './init.ts';

test('a process that has ended by itself is not killed, and nothing is thrown', async () => {
  const child = spawn('sleep', ['60']);
  await once(child, 'spawn');
  const pid = child.pid!;
  expect(kill(pid)).toBe(true);
  await once(child, 'exit');
  expect(kill(pid)).toBe(false);
  expect(await initOf([pid])).toBeUndefined();
});

test('a process outside of the PID namespaces of a container is no first process of one', async () => {
  const child = spawn('sleep', ['60']);
  await once(child, 'spawn');
  expect(await initOf([child.pid!])).toBeUndefined();
  kill(child.pid!);
  await once(child, 'exit');
});
