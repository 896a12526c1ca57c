import { execFile } from 'node:child_process';
import { mkdtemp, readFile, rm, writeFile } from 'node:fs/promises';
import { tmpdir } from 'node:os';
import { join } from 'node:path';
import { promisify } from 'node:util';
import { createTransport, defineResource, ResourceClient, systemClock, type Transport } from '@agentfleet/kube';
import { startFakeServer, type FakeApiServer } from '@agentfleet/kube/testing';
import { apiVersion, agentTask, ajvOptions, validators, type AgentTask } from '@agentfleet/protocol/api';
import { Ajv } from 'ajv';
import { afterEach, beforeEach, describe, expect, test, vi } from 'vitest';
import type { PackTask } from '../format/index.ts';
import { full } from '../run/index.ts';
import { pack } from '../testing/records.ts';
import { clusterJudge, ClusterPool, judgingTask } from './pool.ts';

const tasks = defineResource<AgentTask>(apiVersion, agentTask.kind, agentTask.plural);
const namespaces = defineResource('v1', 'Namespace', 'namespaces', false);
const [plain] = pack(1).tasks as [PackTask];
const hidden = {
  files: { "hidden/it's.txt": 'seen by no agent\n', 'top.sh': 'true\n' },
  command: ['sh', 'top.sh'],
  timeoutSeconds: 9,
  start: 'fails',
} as const;
const task: PackTask = { ...plain, hidden, setup: ['echo b > b.txt'] };
const patch = '--- a/a.py\n+++ b/a.py\n@@ -1 +1 @@\n-x\n+y\n';
const place = { namespace: 'eval', pool: { name: 'coding', namespace: 'pools' } };

describe('the AgentTask that judges', () => {
  test('is one that the API takes, and has the hidden check alone', () => {
    const made = structuredClone(judgingTask(task, patch, 'one', place));
    const valid = validators(new Ajv(ajvOptions)).AgentTask;
    expect(valid(made), JSON.stringify(valid.errors)).toBe(true);
    expect(made.spec.checks).toMatchObject([{ name: 'hidden', command: ['sh', 'top.sh'], expect: 'Pass' }]);
    expect(made.metadata.name).not.toBe(judgingTask(task, '', 'one', place).metadata.name);
  });

  test('makes the tree: patched, with hidden files, and with nothing else', async () => {
    const folder = await mkdtemp(join(tmpdir(), 'judge-'));
    await writeFile(join(folder, 'a.py'), 'x\n');
    const [, lay] = judgingTask(task, patch, 'one', place).spec.setup ?? [];
    const [program = '', ...args] = lay?.command ?? [];
    await promisify(execFile)(program, args, { cwd: folder, env: { PATH: process.env['PATH'] ?? '', GIT_CEILING_DIRECTORIES: tmpdir() } });
    expect(await readFile(join(folder, 'a.py'), 'utf8')).toBe('y\n');
    expect(await readFile(join(folder, "hidden/it's.txt"), 'utf8')).toBe('seen by no agent\n');
    const { stdout } = await promisify(execFile)('find', ['.', '-type', 'f'], { cwd: folder });
    expect(stdout.trim().split('\n').sort()).toEqual(['./a.py', "./hidden/it's.txt", './top.sh']);
    await rm(folder, { recursive: true });
  });

  test('is refused for what it cannot tell', () => {
    const tests = { failing: ['a'], passing: [] };
    expect(() => judgingTask({ ...task, hidden: { ...hidden, tests } }, patch, 'one', place)).toThrow(/judge it in a local sandbox/);
    expect(() => judgingTask(task, 'x'.repeat(400_000), 'one', place)).toThrow(/are too large for an AgentTask/);
  });
});

describe('clusterJudge', () => {
  let server: FakeApiServer;
  let transport: Transport;
  beforeEach(async () => {
    server = await startFakeServer({ kinds: [{ resource: tasks }] });
    transport = createTransport(server.config, { userAgent: 'test' });
    await new ResourceClient(transport, namespaces).create({ metadata: { name: 'eval' } });
  });
  afterEach(async () => {
    await transport.close();
    await server.close();
  });

  async function judged(outcome: object | undefined): Promise<boolean> {
    const judge = clusterJudge({ ...place, transport, clock: systemClock, tasks });
    const verdict = judge(task, patch, new AbortController().signal, 'one');
    const finish = async (): Promise<void> => {
      const found = await vi.waitUntil(() => server.objects(tasks)[0], { timeout: 20_000, interval: 10 });
      const run = outcome === undefined ? {} : { run: { attempt: 1, epoch: 1, outcome } };
      const status = { phase: 'Succeeded', finished: 'true', ...run };
      await new ResourceClient(transport, tasks).patch({ name: found.metadata.name, namespace: 'eval' }, { status });
    };
    return (await Promise.all([verdict, finish()]))[0];
  }

  test.each([
    ['held before anybody did anything', { result: 'Succeeded', reason: 'AlreadyHolds' }, true],
    ['was made to hold afterwards', { result: 'Succeeded', reason: 'ChecksHold' }, false],
    ['does not hold', { result: 'Failed', class: 'BudgetExceeded', reason: 'ToolCallsExceeded' }, false],
  ])('says of a check that %s: %o %s', async (_, outcome, passed) => {
    expect(await judged(outcome)).toBe(passed);
    expect(server.objects(tasks)).toEqual([]);
  });

  test('judges the same patch of two rounds apart', async () => {
    const client = new ResourceClient(transport, tasks);
    const cluster = { ...place, transport, clock: systemClock, tasks };
    const pool = new ClusterPool({ ...cluster, judge: clusterJudge(cluster) });
    const { signal } = new AbortController();
    const attempts = [1, 2].map((round) => pool.attempt(task, full, { seed: 3, round, signal }));
    const finish = async (judges: boolean, reason: string): Promise<void> => {
      const named = (): readonly AgentTask[] => server.objects(tasks).filter(({ spec }) => (spec.checks[0]?.name === 'hidden') === judges);
      await vi.waitFor(() => expect(named()).toHaveLength(2), { timeout: 10_000, interval: 10 });
      const run = { attempt: 1, epoch: 1, outcome: { result: 'Succeeded', reason }, patch };
      for (const { metadata } of named())
        await client.patch({ name: metadata.name, namespace: 'eval' }, { status: { phase: 'Succeeded', finished: 'true', run } });
    };
    await finish(false, 'ChecksHold');
    await finish(true, 'AlreadyHolds');
    expect((await Promise.all(attempts)).map(({ hidden }) => hidden)).toEqual(['Passed', 'Passed']);
  });

  test.each([
    [
      'a patch that does not fit',
      { result: 'Failed', class: 'InvalidInput', reason: 'SetupFailed', message: 'lay-out failed' },
      /SetupFailed: lay-out/,
    ],
    [
      'a lost sandbox',
      { result: 'Failed', class: 'Infrastructure', reason: 'SandboxLost' },
      /could not be judged by AgentTask .*SandboxLost/,
    ],
    ['no outcome', undefined, /ended as Succeeded without an outcome/],
  ])('does not call %s a wrong answer', async (_, outcome, words) => {
    await expect(judged(outcome)).rejects.toThrow(words);
  });
});
