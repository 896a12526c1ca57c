// The examples are what they say they are: the one is a single token away from right, the other cannot be made right.
import { mkdir, mkdtemp, readFile, rm, writeFile } from 'node:fs/promises';
import { tmpdir } from 'node:os';
import { dirname, join } from 'node:path';
import type { AgentTask } from '@agentfleet/protocol/api';
import { execa } from 'execa';
import { load } from 'js-yaml';
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

function failedTests(output: string): readonly string[] {
  return [...output.matchAll(/^FAIL: (\w+)/gm)].map(([, name = '']) => name);
}
