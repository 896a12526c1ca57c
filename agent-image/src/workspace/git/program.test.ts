import { mkdtemp, rm } from 'node:fs/promises';
import { tmpdir } from 'node:os';
import { join } from 'node:path';
import { Readable } from 'node:stream';
import { systemClock } from '@agentfleet/kube';
import { afterAll, beforeAll, expect, test } from 'vitest';
import { AttemptFailure } from '../../base/failure.ts';
import { prepare, type Git } from './program.ts';
import type { GitSettings } from './settings.ts';

let scratch: string;
beforeAll(async () => {
  scratch = await mkdtemp(join(tmpdir(), 'program-'));
});
afterAll(() => rm(scratch, { recursive: true }));

function gitOf(signal: AbortSignal, url = 'https://git.example/app', change: Partial<GitSettings> = {}): Promise<Git> {
  const proxy: GitSettings['proxy'] = { url: 'http://127.0.0.1:1', takeFault: () => undefined };
  const settings = { program: 'git', scratch, proxy, clock: systemClock, signal, limitBytes: 1, timeoutMs: 20_000 };
  return prepare(url, { ...settings, ...change });
}

async function* failing(fail: () => Error): AsyncGenerator<string> {
  yield 'the first part';
  await Promise.resolve();
  throw fail();
}

test.each([
  ['https://git.example/app', 'https://git.example/app'],
  ['https://Git.Example/App.git', 'https://git.example/App.git'],
  ['https://git.example:443/a%20b', 'https://git.example/a%20b'],
  ['https://git.example:8443/a/', 'https://git.example:8443/a/'],
  ['https://b\u00fccher.example/\u00fc', 'https://xn--bcher-kva.example/\u00fc'],
])('git finds the credential for %s', async (written, url) => {
  const place = await mkdtemp(join(scratch, 'credential-'));
  const git = await gitOf(new AbortController().signal, written, { scratch: place, credential: { username: 'bot', password: 'a:b' } });
  const answer = await git.run(['credential', 'fill'], { stdin: Readable.from([`url=${git.url}\n\n`]) });
  expect(answer.toString('utf8')).toMatch(/^username=bot\npassword=a:b$/m);
  expect(git.url).toBe(url);
});

test('input that cannot be read to its end ends git, and is why it failed', async () => {
  const lost = new AttemptFailure('Infrastructure', 'KeeperUnreachable', 'the keeper is away');
  const git = await gitOf(new AbortController().signal);
  await expect(git.run(['hash-object', '--stdin'], { stdin: Readable.from(failing(() => lost)) })).rejects.toBe(lost);
});

test('a stop while input is read is the reason of the stop', async () => {
  const stop = new AbortController();
  const stdin = Readable.from(
    failing(() => {
      stop.abort(new Error('stopped'));
      return new Error('read no more');
    }),
  );
  await expect((await gitOf(stop.signal)).run(['hash-object', '--stdin'], { stdin })).rejects.toThrow('stopped');
});

test('input that git does not read is let go', async () => {
  const stdin = new Readable({ read: () => undefined });
  const git = await gitOf(new AbortController().signal);
  await expect(git.run(['no-such-command'], { stdin })).rejects.toMatchObject({ reason: 'GitFailed' });
  expect(stdin.destroyed).toBe(true);
});
