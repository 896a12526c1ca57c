// The examples are what they say they are: how far each is from right.
import { createHash } from 'node:crypto';
import { mkdir, mkdtemp, readdir, readFile, rm, writeFile } from 'node:fs/promises';
import { tmpdir } from 'node:os';
import { dirname, join } from 'node:path';
import { ajvOptions, group, validators, type AgentTask, type Resources } from '@agentfleet/protocol/api';
import type { Conversation } from '@agentfleet/protocol/chat';
import type { ReplayFile } from '@agentfleet/protocol/inference';
import { Ajv } from 'ajv';
import { execa } from 'execa';
import { load, loadAll } from 'js-yaml';
import { afterEach, beforeEach, expect, test } from 'vitest';
import { example } from './fleet/stage.ts';

let folder: string;
beforeEach(async () => {
  folder = await mkdtemp(join(tmpdir(), 'example-'));
});
afterEach(() => rm(folder, { recursive: true }));

/** Lays the inline workspace of an example out and returns a run of its check. */
async function layOut(name: string): Promise<() => Promise<string>> {
  const { spec } = load(await readFile(example(`${name}.yaml`), 'utf8')) as AgentTask;
  if (spec.workspace.type !== 'Inline') throw new Error(`${name} has no inline workspace`);
  for (const { path, content } of spec.workspace.inline.files) {
    await mkdir(dirname(join(folder, path)), { recursive: true });
    await writeFile(join(folder, path), content);
  }
  const [program = '', ...args] = spec.checks[0]?.command ?? [];
  return async () => (await execa(program, args, { cwd: folder, reject: false, env: { PYTHONDONTWRITEBYTECODE: '1' } })).stderr;
}

async function replace(path: string, from: string, to: string): Promise<void> {
  const text = await readFile(join(folder, path), 'utf8');
  expect(text.split(from)).toHaveLength(2);
  await writeFile(join(folder, path), text.replace(from, to));
}

test('fix-parser: some tests pass and some fail, until one token is changed', async () => {
  const check = await layOut('fix-parser');
  const before = await check();
  expect(before).toContain('Ran 15 tests');
  expect(before).toMatch(/FAILED \(errors=1\)/);
  await replace('expressions/parser.py', '.text != ","', '.text == ","');
  expect(await check()).toMatch(/^OK$/m);
});

test('cannot-be-met: it can be brought forward, and of two of its tests only one holds', async () => {
  const check = await layOut('cannot-be-met');
  expect(await check()).toMatch(/FAILED \(failures=3\)/);
  await replace('rounding.py', 'number // 3', 'number // 2');
  expect(failedTests(await check())).toEqual(['test_odd_is_rounded_up']);
  await replace('rounding.py', 'number // 2', '(number + 1) // 2');
  expect(failedTests(await check())).toEqual(['test_odd_is_rounded_down']);
});

test('two-bugs: no single edit makes all tests pass, two do', async () => {
  const check = await layOut('two-bugs');
  expect(await check()).toMatch(/FAILED \(failures=4\)/);
  await replace('library/loans.py', 'max(HIGHEST', 'min(HIGHEST');
  expect(failedTests(await check())).toEqual(['test_rows_are_full_but_the_last']);
  await replace('library/shelves.py', 'len(ordered) - 1', 'len(ordered)');
  expect(await check()).toMatch(/^OK$/m);
});

test('bad-agent: the last recorded repair is right, and only that', async () => {
  const check = await layOut('bad-agent');
  expect(failedTests(await check())).toHaveLength(2);
  await replace('slugs.py', '    number = 1\n', '    number = 2\n');
  expect(await check()).toMatch(/^OK$/m);
});

test('needs-approval: the test wants the folder gone', async () => {
  const check = await layOut('needs-approval');
  expect(failedTests(await check())).toEqual(['test_what_is_retired_is_gone']);
  await rm(join(folder, 'legacy'), { recursive: true });
  expect(await check()).toMatch(/^OK$/m);
});

test('write-module: its tests fail until the calls of the recorded model are done', async () => {
  const check = await layOut('write-module');
  expect(await check()).toMatch(/^FAILED/m);
  const [map] = loadAll(await readFile(example('recorded-chat.yaml'), 'utf8')) as readonly { data: Readonly<Record<string, string>> }[];
  const { exchanges } = JSON.parse(map?.data['write-module.json'] ?? '') as Conversation;
  const calls = exchanges.flatMap(({ response }) => response.choices[0]?.message.tool_calls ?? []);
  for (const { function: called } of calls.filter((one) => one.function.name === 'edit_file')) {
    const { path, old_text: before, new_text: after } = JSON.parse(called.arguments) as Readonly<Record<string, string>>;
    if (before === undefined) await writeFile(join(folder, path ?? ''), after ?? '');
    else await replace(path ?? '', before, after ?? '');
  }
  expect(await check()).toMatch(/^OK$/m);
});

test('recorded: each proposal fits the workspace of its task', async () => {
  const [map] = loadAll(await readFile(example('recorded.yaml'), 'utf8')) as readonly { data: Readonly<Record<string, string>> }[];
  const { records } = JSON.parse(map?.data['proposals.json'] ?? '') as ReplayFile;
  for (const name of ['bad-agent', 'needs-approval']) {
    const { spec } = load(await readFile(example(`${name}.yaml`), 'utf8')) as AgentTask;
    const record = records.find(({ goal }) => goal === spec.goal);
    expect(record?.steps.length).toBeGreaterThan(0);
    const files = spec.workspace.type === 'Inline' ? spec.workspace.inline.files : [];
    for (const { path, before, expectedSha256 } of record?.steps.flat().flatMap(({ edits }) => edits) ?? []) {
      const content = files.find((file) => file.path === path)?.content ?? '';
      expect(content.split(before)).toHaveLength(2);
      if (expectedSha256 !== undefined) expect(createHash('sha256').update(content).digest('hex')).toBe(expectedSha256);
    }
  }
});

function failedTests(output: string): readonly string[] {
  return [...output.matchAll(/^FAIL: (\w+)/gm)].map(([, name = '']) => name);
}

interface Manifest {
  readonly apiVersion: string;
  readonly kind: keyof Resources;
  readonly metadata: { readonly name: string };
}

test('every object of ours fits the schema of its kind', async () => {
  const ajv = new Ajv(ajvOptions);
  const valid = validators(ajv);
  const files = (await readdir(example(''))).filter((name) => name.endsWith('.yaml'));
  const found = await Promise.all(files.map(async (name) => loadAll(await readFile(example(name), 'utf8')) as Manifest[]));
  const ours = found.flat().filter(({ apiVersion }) => apiVersion.startsWith(`${group}/`));
  expect(new Set(ours.map(({ kind }) => kind))).toContain('EnergyModel');
  for (const object of ours) {
    const fits = valid[object.kind];
    expect(fits(object) ? '' : `${object.kind} ${object.metadata.name}: ${ajv.errorsText(fits.errors)}`).toBe('');
  }
});

test('the first tasks and README name the pools of the examples', async () => {
  const of = async (name: string) => loadAll(await readFile(example(name), 'utf8')) as (Manifest | AgentTask)[];
  const poolsOf = async (name: string): Promise<readonly string[]> =>
    (await of(name)).flatMap(({ kind, metadata }) => (kind === 'ExpertPool' ? [Object.values(metadata).toReversed().join('/')] : []));
  expect(await poolsOf('pool.yaml')).toEqual(['agentfleet-pools/search']);
  expect(await poolsOf('chat.yaml')).toEqual(['agentfleet-pools/chat']);
  for (const name of ['first-task.yaml', 'git-task.yaml']) {
    const [task] = await of(name);
    expect(task).toMatchObject({ spec: { poolRef: { name: 'search', namespace: 'agentfleet-pools' } } });
  }
  const readme = await readFile(example('../README.md'), 'utf8');
  expect(readme.match(/expertpool\/\w+/g)).toEqual(['expertpool/search', 'expertpool/chat']);
  expect(readme).toContain("sed 's/name: search/name: chat/; s/name: first-task/name: second-task/' examples/first-task.yaml");
  expect(readme).toMatch(/\[git-task\.yaml\]\(examples\/git-task\.yaml\).*private CA/);
});
