import { mkdir, mkdtemp, rm } from 'node:fs/promises';
import { createServer } from 'node:http';
import type { AddressInfo } from 'node:net';
import { tmpdir } from 'node:os';
import { join } from 'node:path';
import { newExecId } from '@agentfleet/keeper/client';
import { createTwoFilesPatch } from 'diff';
import { afterAll, beforeAll, describe, expect, test, vi } from 'vitest';
import { buildTasks, type PackTask, type TaskFile } from '../format/index.ts';
import { variantsOf, type ModelOptions, type Variant } from '../run/index.ts';
import { faultsOf, type Scenario } from '../scenarios/scenario.ts';
import { LocalPool } from './index.ts';
import { LocalModel } from './model.ts';
import { buildPrograms, type Programs } from './programs.ts';
import { ProcessSandbox } from './sandbox.ts';

/** Real processes: a machine that is busy with other things takes its time. */
vi.setConfig({ testTimeout: 180_000, hookTimeout: 180_000 });

const checkout = join(import.meta.dirname, '../../..');
const folder = await mkdtemp(join(tmpdir(), 'agentfleet-local-'));
const [keeper, bin] = [join(folder, 'keeper'), join(folder, 'bin')];
for (const part of [keeper, bin]) await mkdir(part);
const built: Programs | Error = await buildPrograms(checkout, { keeper, bin }).catch((error: Error) => error);
if (built instanceof Error) console.error(`SKIPPED: ${built.message}`);
const signal = new AbortController().signal;
afterAll(() => rm(folder, { recursive: true, force: true }));

const test1 = (line: string): string =>
  `import unittest\nfrom sums import total\n\n\nclass Sums(unittest.TestCase):\n    def test_it(self):\n        ${line}\n`;
const file: TaskFile = {
  language: 'python',
  files: { 'sums.py': 'def total(prices):\n    result = 0\n    for price in prices:\n        result += price\n    return result\n' },
  visible: { files: { 'test_sums.py': test1('self.assertEqual(total([2, 3]), 5)') } },
  hidden: { files: { 'hidden/test_more.py': test1('self.assertEqual(total([1, 1, 1]), 3)') } },
  tasks: [{ id: 'minus', goal: 'Make the tests pass.', break: [{ find: '+=', put: '-=' }] }],
};
const task = buildTasks(file, { pack: 'mini', family: 'sums', half: 'dev' })[0] as PackTask;
/** The visible check is weaker than the hidden one. */
const stricter: PackTask = {
  ...task,
  hidden: { ...task.hidden, files: { 'hidden/test_more.py': test1('self.assertEqual(total([1]), 4)') } },
};

describe.skipIf(built instanceof Error)('a sandbox of this machine', () => {
  let sandbox: ProcessSandbox;
  beforeAll(async () => {
    sandbox = await ProcessSandbox.open(built as Programs, signal);
  });
  afterAll(() => sandbox[Symbol.asyncDispose]());
  const shell = async (command: string): Promise<string> => {
    const { stdout, stderr } = await sandbox.keeper.run({ execId: newExecId(), tool: 'Shell', command });
    return stdout + stderr;
  };

  test('has the wall of the runner', () => {
    expect(sandbox.isolation).toMatchObject({ noNewPrivs: true, capEff: '0000000000000000' });
  });

  test('shows nothing of this machine: no packs, no homes, no store, no key', async () => {
    const found = await shell(
      `find / -xdev \\( -name 'hidden*' -o -name '*.jsonl' -o -name instances.jsonl \\) -not -path '/usr/*' -not -path '/proc/*' 2>/dev/null`,
    );
    expect(found).toBe('');
    const packs = `${checkout}/test/packs`;
    expect(await shell(`ls ${packs} /root/.ssh /var/lib/agentfleet /opt/agentfleet/keeper.js 2>&1 | grep -vc 'No such file'`)).toBe('0\n');
    expect(await shell('env')).not.toMatch(/LINK_KEY/);
  });

  test('has of Python the standard library, and no package of this machine', async () => {
    const count = 'import json, os, site; print(sum(len(os.listdir(one)) for one in site.getsitepackages() if os.path.isdir(one)))';
    expect(await shell(`for python in $(which -a python3); do $python -c '${count}' || exit; done | sort -u`)).toBe('0\n');
    expect((built as Programs).hidden.length).toBeGreaterThan(0);
  });

  test('has a loopback, as a pod has', async () => {
    const listen =
      'import socket; s = socket.create_server(("127.0.0.1", 0)); socket.create_connection(s.getsockname(), 5); print("joined")';
    expect(await shell(`python3 -c '${listen}'`)).toBe('joined\n');
  });

  test('has as much room below /tmp as a pod has', async () => {
    expect(await shell('df --output=size -B1M /tmp | tail -n 1')).toMatch(/^ *2048\n$/);
  });

  test('has the streams of a process by their names', async () => {
    expect(await shell('echo a > /dev/stdout; echo b | tee /dev/stderr; cat /dev/stdin < /dev/null')).toBe('a\nb\nb\n');
  });

  test('has no network', async () => {
    expect(await shell('tail -n +3 /proc/net/dev | grep -vc lo:')).toBe('0\n');
  });

  test('is fresh after a restart, with its workspace', async () => {
    await shell('echo a > /workspace/kept; echo b > /tmp/gone');
    await sandbox.keeper.restartTools();
    await vi.waitUntil(async () => (await sandbox.keeper.info()).ready, { timeout: 30_000, interval: 20 });
    expect(await shell('cat /workspace/kept; ls /tmp')).toBe('a\n');
  });
});

describe.skipIf(built instanceof Error)('a local pool', () => {
  let pool: LocalPool;
  const alone = variantsOf(['Learned'])[1] as Variant;
  beforeAll(async () => {
    pool = await LocalPool.open({ checkout, budget: { toolCalls: 100, wallSeconds: 120 } });
  });
  afterAll(() => pool[Symbol.asyncDispose]());
  const attempt = (one: PackTask) => pool.attempt(one, alone, { seed: 1, round: 1, signal });

  test('solves a task and judges it by a check that no agent saw', async () => {
    const attempted = await attempt(task);
    expect(attempted).toMatchObject({ result: 'Succeeded', reason: 'ChecksHold', hidden: 'Passed', degraded: [] });
    expect(attempted.tried.at(-1)).toMatchObject({ result: 'Reached' });
    expect(attempted.usage.candidates).toBe(attempted.tried.length);
  });

  test('does not believe an attempt that only its own tests praise', async () => {
    expect(await attempt(stricter)).toMatchObject({ result: 'Succeeded', hidden: 'Failed' });
  });

  test('reports a broken set-up as a failure of the attempt', async () => {
    expect(await attempt({ ...task, setup: ['exit 3'] })).toMatchObject({ result: 'Failed', hidden: 'NotJudged' });
  });

  test('plays a scenario that writes code which no search for edits could', async () => {
    const missing: PackTask = {
      ...task,
      files: { 'sums.py': 'def mean(prices):\n    return 0\n', 'test_sums.py': test1('self.assertEqual(total([2, 3]), 5)') },
    };
    const scenario: Scenario = {
      name: 'total',
      says: 'write a function',
      task: task.id,
      proposals: [{ commands: ["printf 'def total(prices):\\n    return sum(prices)\\n' >> sums.py"] }],
      expect: { tried: [{ result: 'Reached' }], outcome: 'ChecksHold', hidden: 'Passed' },
    };
    expect(faultsOf(scenario, await pool.play(scenario, missing, signal))).toEqual([]);
  });

  test('plays a scenario in a workspace without programs: vetoed, made, judged and taken back', async () => {
    const blank: PackTask = {
      ...task,
      files: { 'check.sh': 'test -s out/made.txt\n' },
      visible: { ...task.visible, files: { 'check.sh': 'test -s out/made.txt\n' }, command: ['sh', 'check.sh'] },
      hidden: { ...task.hidden, files: {}, command: ['grep', '-qx', 'right', 'out/made.txt'] },
      oracle: { files: { 'out/made.txt': 'right\n' } },
    };
    const scenario: Scenario = {
      name: 'blank',
      says: 'write a file',
      task: 'sums/blank',
      proposals: [{ commands: ['sudo id'] }, { solution: true }],
      rollback: 'Initial',
      expect: {
        tried: [{ result: 'Denied', why: 'privilege' }, { result: 'Reached' }],
        outcome: 'ChecksHold',
        hidden: 'Passed',
        rolledBack: true,
        left: { 'out/made.txt': 'right\n' },
      },
    };
    const observed = await pool.play(scenario, blank, signal);
    expect(faultsOf(scenario, observed)).toEqual([]);
    expect(observed.ran).not.toContain('sudo id');
    expect(observed.ran.join()).toContain('made.txt');
  });

  test('judges a patch from elsewhere', async () => {
    const [before, after] = [task.files['sums.py'] ?? '', task.oracle.files['sums.py'] ?? ''];
    const patch = createTwoFilesPatch('a/sums.py', 'b/sums.py', before, after).split('\n').slice(1).join('\n');
    expect(await pool.judgePatch(task, patch, signal)).toBe(true);
    expect(await pool.judgePatch(task, '', signal)).toBe(false);
    await expect(pool.judgePatch(task, patch.replaceAll('sums.py', 'gone.py'), signal)).rejects.toThrow(/does not fit its workspace/);
  });

  test('has another digest for another variant', async () => {
    const other = { ...alone, ablations: [...alone.ablations, 'Backtracking'] };
    expect(await pool.digest(alone)).toBe(await pool.digest({ ...alone }));
    expect(await pool.digest(alone)).not.toBe(await pool.digest(other));
  });
});

const calls = [
  { name: 'bash', args: { command: 'python3 -m unittest; sudo id' } },
  { name: 'edit_file', args: { path: 'sums.py', old_text: '-=', new_text: '+=' } },
  { name: 'submit', args: { answer: 'The sum was negative.' } },
];

/** An endpoint whose model gives the n-th call at the n-th step. */
async function scripted(key?: string): Promise<AsyncDisposable & { readonly baseURL: string }> {
  const server = createServer((request, response) => {
    const refused = key !== undefined && request.headers.authorization !== `Bearer ${key}`;
    if (refused || request.method === 'GET') {
      response.writeHead(refused ? 401 : 404).end();
      return;
    }
    const parts: Buffer[] = [];
    request.on('data', (part: Buffer) => parts.push(part));
    request.on('end', () => {
      const { messages } = JSON.parse(Buffer.concat(parts).toString('utf8')) as { readonly messages: readonly { readonly role: string }[] };
      const at = messages.filter(({ role }) => role === 'assistant').length;
      const { name, args } = calls[at] ?? { name: 'submit', args: { answer: 'more' } };
      const call = { id: `call-${at}`, type: 'function', function: { name, arguments: JSON.stringify(args) } };
      const message = { role: 'assistant', content: null, tool_calls: [call] };
      const usage = { prompt_tokens: 1000, completion_tokens: 10, total_tokens: 1010 };
      const choices = [{ index: 0, message, finish_reason: 'tool_calls', logprobs: null }];
      response.writeHead(200, { 'content-type': 'application/json' });
      response.end(JSON.stringify({ id: `r-${at}`, object: 'chat.completion', created: 1, model: 'scripted', choices, usage }));
    });
  });
  await new Promise<void>((resolve) => server.listen(0, '127.0.0.1', resolve));
  const baseURL = `http://127.0.0.1:${(server.address() as AddressInfo).port}/v1`;
  return { baseURL, [Symbol.asyncDispose]: () => new Promise((resolve) => server.close(() => resolve())) };
}

describe.skipIf(built instanceof Error)('a chat model in a local pool', () => {
  const alone = variantsOf(['Learned'])[1] as Variant;
  const common = { model: 'scripted', contextTokens: 32_000, maxOutputTokens: 1024, toolCalls: 'Native', timeoutSeconds: 60 } as const;
  const budget = { toolCalls: 100, wallSeconds: 120 };
  const options = { seed: 1, round: 1, signal };

  test('does a task at an endpoint, and the kept conversation does it again', async () => {
    const conversations = join(folder, 'conversations');
    const expected = {
      result: 'Succeeded',
      hidden: 'Passed',
      conversation: { steps: 3, calls: 3, refusals: 1, undone: 0, compactions: 0 },
      usage: { tokensIn: 3000, tokensOut: 30 },
    };
    await using endpoint = await scripted();
    {
      await using pool = await LocalPool.open({ checkout, budget, model: { ...common, endpoint: endpoint.baseURL } });
      const first = await pool.attempt(task, alone, options);
      expect(first, first.message).toMatchObject(expected);
      expect(await pool.keepConversations(conversations)).toBe(1);
    }
    await using again = await LocalPool.open({ checkout, budget, model: { ...common, recordings: conversations } });
    expect(await again.attempt(task, alone, options)).toMatchObject(expected);
  });

  test('continues with another worker where one is lost in the middle of a step', async () => {
    await using endpoint = await scripted();
    await using pool = await LocalPool.open({ checkout, budget, model: { ...common, endpoint: endpoint.baseURL, loseWorkerAt: 2 } });
    const done = await pool.attempt(task, alone, options);
    expect(done, done.message).toMatchObject({ result: 'Succeeded', hidden: 'Passed', conversation: { steps: 3, calls: 3 } });
  });

  test('gives a slow model its time', async () => {
    await using endpoint = await scripted();
    const slow = { ...common, endpoint: endpoint.baseURL, timeoutSeconds: 3600 };
    await using model = await LocalModel.open(checkout, await mkdtemp(join(folder, 'slow-')), slow);
    expect(model.expert.chat).toMatchObject({ timeoutSeconds: 3600 });
  });

  test.each<[string, Partial<ModelOptions>, RegExp]>([
    ['the key that it names', { keyEnv: 'NO_SUCH_KEY' }, /variable NO_SUCH_KEY holds no key/],
    ['a key that is wanted', {}, /\/v1 wants a key \(401\); name the variable/],
    ['the right key', { keyEnv: 'PATH' }, /\/v1 wants another key \(401\); mend PATH/],
    ['a server', { endpoint: 'http://nowhere.invalid/v1' }, /nothing answers at http:\/\/nowhere\.invalid\/v1: .*ENOTFOUND/],
  ])('is refused without %s', async (_, change, error) => {
    await using endpoint = await scripted('right');
    const model = { ...common, endpoint: endpoint.baseURL, ...change };
    await expect(LocalModel.open(checkout, folder, model)).rejects.toThrow(error);
  });
});
