import { readFile } from 'node:fs/promises';
import { load } from 'js-yaml';
import { afterAll, beforeAll, expect, test } from 'vitest';
import type { AgentTaskSpec } from '@agentfleet/protocol/api';
import type { Sandbox } from '../../hack/sandbox/index.ts';
import { AttemptBed, type Run, type RunOptions } from './attemptBed.ts';
import { useNamespace } from './harness.ts';

/** The real engine of attempts on real sandboxes, with the search that needs no model. */
const bench = useNamespace('attempt');
let bed: AttemptBed;
beforeAll(async () => {
  bed = await AttemptBed.open();
});
afterAll(() => bed[Symbol.asyncDispose]());

async function example(name: string): Promise<Partial<AgentTaskSpec>> {
  const text = await readFile(new URL(`../../examples/${name}.yaml`, import.meta.url), 'utf8');
  return (load(text) as { spec: Partial<AgentTaskSpec> }).spec;
}

/** A calculator with as many faults as its functions are given. */
function calculator(add: string, clamp: string): Partial<AgentTaskSpec> {
  const files = [
    {
      path: 'calc.py',
      content: `def add(a, b):\n    return ${add}\n\n\ndef clamp(x, low, high):\n    if x < low:\n        return low\n    if x > high:\n        return ${clamp}\n    return x\n`,
    },
    {
      path: 'test_calc.py',
      content:
        'import unittest\n\nfrom calc import add, clamp\n\n\nclass Calc(unittest.TestCase):\n' +
        '    def test_add(self):\n        self.assertEqual(add(2, 3), 5)\n\n' +
        '    def test_low(self):\n        self.assertEqual(clamp(-4, 0, 9), 0)\n\n' +
        '    def test_high(self):\n        self.assertEqual(clamp(12, 0, 9), 9)\n\n' +
        '    def test_inside(self):\n        self.assertEqual(clamp(4, 0, 9), 4)\n',
    },
  ];
  return {
    goal: 'Make the tests pass.',
    workspace: { type: 'Inline', inline: { files: files.map((file) => ({ ...file, mode: 0o644 })) } },
    checks: [{ name: 'unit', command: ['python3', '-m', 'unittest', '-v'], timeoutSeconds: 20 }] as unknown as AgentTaskSpec['checks'],
  };
}

const begin = (sandbox: Sandbox, options: RunOptions): Run => bed.begin(sandbox, options);

async function snapshot(sandbox: Sandbox, epoch: number, label: string): Promise<{ readonly id: string; readonly manifestDigest: string }> {
  const found = (await sandbox.clientWith({ epoch }).snapshots()).findLast((one) => one.label === label);
  if (found === undefined) throw new Error(`no snapshot ${label}`);
  return found;
}

async function source(sandbox: Sandbox, epoch: number, path: string): Promise<string> {
  return (await sandbox.clientWith({ epoch }).readFile(`/workspace/${path}`)).toString();
}

test('a bug that tests show is repaired, proved in a fresh container and kept as files', { timeout: 360_000 }, async () => {
  const sandbox = await bench.open();
  const spec = await example('fix-parser');
  const run = begin(sandbox, { spec });
  const before = (await sandbox.client.info()).tools.instance;
  const outcome = await bed.engine.run(run.context);
  expect(outcome).toMatchObject({ result: 'Succeeded', reason: 'ChecksHold', checks: [{ name: 'unit', failed: 0 }] });
  expect((await sandbox.clientWith({}).info()).tools.instance).not.toBe(before);
  const { patch = '', artifacts = [], plan = [], snapshots, auditRoot } = run.reported;
  expect(patch).toMatch(/^-.*\n\+/m);
  expect(artifacts.map(({ name }) => name)).toEqual(['change.patch', 'revert.tar', 'report.json', 'trace.ndjson']);
  const key = (artifacts[0]?.uri ?? '').replace('pvc://artifacts/', '');
  expect((await bed.store.get(key)).toString()).toBe(patch);
  expect(auditRoot).toBeTypeOf('string');
  expect(snapshots?.lastGreen).toBe((await snapshot(sandbox, 1, 'result')).id);
  expect(plan.filter(({ state }) => state === 'Done').map(({ id }) => id)).toEqual(
    expect.arrayContaining(['g', 'prepare', 'baseline', 'repair', 'verify']),
  );
});

test('a check that no edit meets ends with the budget, and all of it is taken back', { timeout: 360_000 }, async () => {
  const sandbox = await bench.open();
  const run = begin(sandbox, { spec: { ...(await example('cannot-be-met')), budget: { toolCalls: 60 } } });
  expect(await bed.engine.run(run.context)).toMatchObject({ result: 'Failed', class: 'BudgetExceeded', reason: 'ToolCallsExceeded' });
  const initial = await snapshot(sandbox, 1, 'initial');
  const restored = await bed.engine.rollback(begin(sandbox, { spec: await example('cannot-be-met') }).context, 'Initial');
  expect(restored).toMatchObject({ snapshot: initial.id, verified: true, manifestDigest: initial.manifestDigest });
  expect((await sandbox.clientWith({}).diff(initial.id)).entries).toEqual([]);
});

test.each([
  [
    'a check whose command does not exist',
    { checks: [{ name: 'unit', command: ['no-such-program'] }] },
    'NotRunnable',
    /no-such-program|not be started/,
  ],
  [
    'a check that has to fail first and passes',
    { checks: [{ name: 'unit', command: ['true'], expect: 'FailThenPass' }] },
    'AlreadyPasses',
    /already passes/,
  ],
  [
    'a set-up step that fails',
    { setup: [{ name: 'prepare', command: ['sh', '-c', 'echo no such mirror >&2; exit 3'] }] },
    'SetupFailed',
    /prepare failed: exit status 3.*no such mirror/s,
  ],
  [
    'a set-up step that fails without a word',
    { setup: [{ name: 'prepare', command: ['false'] }] },
    'SetupFailed',
    /exit status 1; correct spec\.setup in a new task\. It said: nothing$/,
  ],
] as const)('%s is told before anything is tried', { timeout: 360_000 }, async (_, change, reason, message) => {
  const sandbox = await bench.open();
  const spec = { ...calculator('a - b', 'high'), ...(change as unknown as Partial<AgentTaskSpec>) };
  const run = begin(sandbox, { spec });
  const outcome = await bed.engine.run(run.context);
  expect(outcome).toMatchObject({ result: 'Failed', class: 'InvalidInput', reason });
  expect(outcome.message).toMatch(message);
  expect(run.reported.usage?.candidates).toBe(0);
});

test('two bugs are repaired by two steps, each kept as a snapshot', { timeout: 360_000 }, async () => {
  const sandbox = await bench.open();
  const run = begin(sandbox, { spec: calculator('a - b', 'low') });
  expect(await bed.engine.run(run.context)).toMatchObject({ result: 'Succeeded' });
  const done = (run.reported.plan ?? []).filter(({ kind, state }) => kind === 'Step' && state === 'Done');
  expect(done).toHaveLength(2);
  expect(run.reported.patch?.match(/^\+[^+]/gm)).toHaveLength(2);
});

test('another worker continues where one was paused, and tries nothing twice', { timeout: 360_000 }, async () => {
  const sandbox = await bench.open();
  const spec = await example('fix-parser');
  const first: Run = begin(sandbox, {
    spec,
    onReport: ({ usage }) => {
      if ((usage?.candidates ?? 0) >= 5) first.abort('Quiesce');
    },
  });
  await expect(bed.engine.run(first.context)).rejects.toBe('Quiesce');
  const second = begin(sandbox, { spec, attempt: 1, epoch: 2 });
  expect(await bed.engine.run(second.context)).toMatchObject({ result: 'Succeeded' });
  await expect(bed.engine.run(begin(sandbox, { spec, epoch: 1 }).context)).rejects.toThrow('newer assignment');
  const tried: string[] = [];
  for await (const { type, body } of sandbox.clientWith({ epoch: 2 }).events()) {
    const { kind, data } = body as { kind?: string; data?: { state: string; id: string } };
    if (type === 'Noted' && kind === 'Tried') tried.push(`${data?.state} ${data?.id}`);
  }
  expect(tried.length).toBeGreaterThan(5);
  expect(new Set(tried).size).toBe(tried.length);
});

test('a next attempt that keeps the tree measures it first', { timeout: 360_000 }, async () => {
  const sandbox = await bench.open();
  const spec = { ...calculator('a - b', 'low'), attempts: { rules: [{ class: 'Stuck', action: 'Retry' }] } } as Partial<AgentTaskSpec>;
  const first = begin(sandbox, { spec, experts: { choose: () => bed.expert, generate: () => Promise.reject(new Error('away')) } });
  expect(await bed.engine.run(first.context)).toMatchObject({ class: 'Infrastructure', reason: 'ExpertUnavailable' });
  // The tree that the first attempt would have left: one of both bugs is repaired.
  const text = await source(sandbox, 1, 'calc.py');
  await sandbox.clientWith({}).writeFile('/workspace/calc.py', text.replace('a - b', 'a + b'));
  const status = { attempts: [{ number: 1, class: 'Stuck' }] } as unknown as RunOptions['status'];
  const second = begin(sandbox, { spec, attempt: 2, ...(status !== undefined && { status }) });
  expect(await bed.engine.run(second.context)).toMatchObject({ result: 'Succeeded' });
  expect((second.reported.plan ?? []).filter(({ kind, state }) => kind === 'Step' && state === 'Done')).toHaveLength(1);
  expect(await source(sandbox, 2, 'calc.py')).toContain('a + b');
});

test('a check that never ends is ended when the attempt is stopped', { timeout: 360_000 }, async () => {
  const sandbox = await bench.open();
  const checks = [{ name: 'unit', command: ['sleep', '300'], timeoutSeconds: 400 }] as unknown as AgentTaskSpec['checks'];
  const run: Run = begin(sandbox, { spec: { ...calculator('a - b', 'low'), checks } });
  const ended = expect(bed.engine.run(run.context)).rejects.toBe('Stop');
  await expect.poll(async () => (await sandbox.client.info()).running, { timeout: 360_000 }).not.toBeNull();
  run.abort('Stop');
  await ended;
  expect((await sandbox.client.info()).running).toBeNull();
  expect((run.reported.artifacts ?? []).map(({ name }) => name)).toContain('trace.ndjson');
});
