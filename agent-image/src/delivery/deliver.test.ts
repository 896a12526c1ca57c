import { execFile } from 'node:child_process';
import { mkdir, mkdtemp, readFile, rm } from 'node:fs/promises';
import { tmpdir } from 'node:os';
import { join } from 'node:path';
import { promisify } from 'node:util';
import { systemClock } from '@agentfleet/kube';
import type { AgentTask, Delivered } from '@agentfleet/protocol/api';
import { afterAll, beforeAll, beforeEach, expect, test } from 'vitest';
import { dialerTo, startGitServer, type GitServer } from '../workspace/testing/gitServer.ts';
import { TestRepository } from '../workspace/testing/repository.ts';
import { deliver } from './deliver.ts';

const sh = promisify(execFile);
let folder: string;
let bare: string;
let base: string;
let server: GitServer;

beforeAll(async () => {
  folder = await mkdtemp(join(tmpdir(), 'deliver-'));
  bare = join(folder, 'root', 'app.git');
  server = await startGitServer(folder, join(folder, 'root'));
});
beforeEach(async () => {
  await rm(join(folder, 'work'), { recursive: true, force: true });
  await rm(bare, { recursive: true, force: true });
  const work = await TestRepository.create(join(folder, 'work'));
  await work.write('old.txt', 'old');
  await work.write('keep.txt', 'keep');
  base = await work.commit('first');
  await sh('git', ['clone', '--quiet', '--bare', work.folder, bare]);
  await sh('git', ['-C', bare, 'config', 'http.receivepack', 'true']);
  await mkdir(join(folder, 'scratch'), { recursive: true });
});
afterAll(async () => {
  await server.close();
  await rm(folder, { recursive: true, force: true });
});

const git = async (...args: string[]): Promise<string> => (await sh('git', ['-C', bare, ...args])).stdout.trim();

/** Delivers the removal of a file to a branch; `said`: commits that the log of the sandbox says were pushed there. */
async function delivered(branch: string, path: string, said: readonly string[]): Promise<Delivered> {
  const task = {
    metadata: { name: 'fix', namespace: 'team', uid: 'uid-of-task' },
    spec: {
      goal: `Remove ${path}.`,
      workspace: { type: 'Git', git: { url: `${server.origin}/app.git`, ref: 'main' } },
      output: { git: { branch } },
    },
  } as unknown as AgentTask;
  const pushed = said.map((commit) => ({ branch, commit, base, at: 1_700_000_000 }));
  const ports = {
    read: () => Promise.resolve(Buffer.alloc(0)),
    before: { base, pushed, pullRequest: undefined },
    credentials: [],
    dialer: dialerTo(server.origin),
    scratch: join(folder, 'scratch'),
    authorities: { file: server.authorities, pem: await readFile(server.authorities, 'utf8') },
    clock: systemClock,
    signal: new AbortController().signal,
    say: () => undefined,
    note: () => Promise.resolve(),
    intentDurable: () => Promise.resolve(),
  };
  return deliver({ task, attempt: 1, files: [{ path, shown: path }], checks: [] }, ports);
}

test('a task replaces its own earlier result', async () => {
  const { commit = '' } = await delivered('fix', 'old.txt', []);
  expect(await git('rev-parse', 'fix')).toBe(commit);
  const again = await delivered('fix', 'keep.txt', [commit]);
  expect(again).toMatchObject({ branch: 'fix' });
  expect(again.reason).toBeUndefined();
  expect(await git('rev-parse', 'fix')).toBe(again.commit);
  expect(await git('diff', '--name-status', base, 'fix')).toBe('D\tkeep.txt');
});

test("a log that says that another author's commit was pushed by the task overwrites nothing", async () => {
  expect(await delivered('main', 'old.txt', [base])).toMatchObject({ branch: 'main', reason: 'BranchMoved' });
  expect(await git('rev-parse', 'main')).toBe(base);
});
