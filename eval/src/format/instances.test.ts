import { mkdir, mkdtemp, rm, writeFile } from 'node:fs/promises';
import { tmpdir } from 'node:os';
import { join } from 'node:path';
import { createTwoFilesPatch } from 'diff';
import { afterEach, beforeEach, expect, it } from 'vitest';
import { verifyTask } from '../verify/index.ts';
import { loadPack, type PackTask } from './index.ts';

const wrong = 'def add(a, b):\n    return a - b\n\n\ndef zero():\n    return 0\n';
const right = wrong.replace('a - b', 'a + b');
const head = 'import unittest\nfrom sums import add, zero\n\n\nclass Sums(unittest.TestCase):\n';
const old = `${head}    def test_zero(self):\n        self.assertEqual(zero(), 0)\n`;
const more = `${old}\n    def test_add(self):\n        self.assertEqual(add(1, 2), 3)\n`;
const id = (name: string): string => `test_sums.Sums.test_${name}`;
const python = { language: 'python', half: 'dev', command: ['python3', '-m', 'unittest', '-v'] };
const manifest = {
  name: 'issues',
  version: '1.0.0',
  licence: 'Apache-2.0',
  author: 'Written for this test.',
  halves: { dev: [], 'held-out': [] },
  repos: { 'ours/sums': python },
};
const instance = {
  instance_id: 'ours__sums-1',
  repo: 'ours/sums',
  base_commit: '0123abc',
  problem_statement: 'The sum of 1 and 2 is -1.',
  patch: createTwoFilesPatch('a/sums.py', 'b/sums.py', wrong, right),
  test_patch: createTwoFilesPatch('a/test_sums.py', 'b/test_sums.py', old, more),
  FAIL_TO_PASS: JSON.stringify([id('add')]),
  PASS_TO_PASS: [id('zero')],
  version: '1',
};

let folder: string;
beforeEach(async () => {
  folder = await mkdtemp(join(tmpdir(), 'agentfleet-instances-'));
});
afterEach(() => rm(folder, { recursive: true, force: true }));

async function read(change: object = {}): Promise<PackTask> {
  const sources = join(folder, 'repos', 'ours__sums', '0123abc');
  await mkdir(sources, { recursive: true });
  await writeFile(join(sources, 'sums.py'), wrong);
  await writeFile(join(sources, 'test_sums.py'), old);
  await writeFile(join(folder, 'pack.json'), JSON.stringify(manifest));
  await writeFile(join(folder, 'instances.jsonl'), `${JSON.stringify({ ...instance, ...change })}\n`);
  return (await loadPack(folder)).tasks[0] as PackTask;
}

const options = { memoryMiB: 512, signal: new AbortController().signal };

it('reads an issue whose tests are judged by name', async () => {
  const task = await read();
  expect(task).toMatchObject({ id: 'issues/ours__sums-1', oracle: { files: { 'sums.py': right } }, visible: { start: 'passes' } });
  expect(JSON.stringify(task.files)).not.toContain('test_add');
  expect((await verifyTask(task, undefined, options)).refusals).toEqual([]);
});

it('shows tests of its own where there are some', async () => {
  const visible = createTwoFilesPatch('/dev/null', 'b/test_issue.py', '', more.replace('(1, 2), 3', '(0, 2), 2'));
  expect(await read({ visible_patch: visible })).toMatchObject({ visible: { start: 'fails', files: { 'test_issue.py': /add/ } } });
});

it('refuses tests that do not behave as listed', async () => {
  const swapped = await read({ FAIL_TO_PASS: [id('zero')], PASS_TO_PASS: [id('add')] });
  expect((await verifyTask(swapped, undefined, options)).refusals).toEqual([
    expect.stringContaining('test_sums.Sums.test_zero of FAIL_TO_PASS passes at the start'),
    expect.stringContaining('test_sums.Sums.test_add of PASS_TO_PASS fails at the start'),
  ]);
  const absent = await read({ PASS_TO_PASS: ['test_gone'] });
  expect((await verifyTask(absent, undefined, options)).refusals).toContainEqual(
    expect.stringContaining('its oracle does not pass the hidden'),
  );
});

it('names unreadable files', async () => {
  await expect(read({ repo: 'ours/other' })).rejects.toThrow(/instance ours__sums-1 names ours\/other, which is not under "repos"/);
  await expect(read({ base_commit: 'fffffff' })).rejects.toThrow(/names sources that are not in .*fffffff/);
  await expect(read({ patch: instance.patch.replace('a - b', 'a * b') })).rejects.toThrow(/has a patch that does not fit sums\.py/);
  await expect(read({ patch: undefined })).rejects.toThrow(/instances\.jsonl:1: .*required property 'patch'/);
});
