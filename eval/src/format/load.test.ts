import { mkdir, mkdtemp, rm, writeFile } from 'node:fs/promises';
import { tmpdir } from 'node:os';
import { join } from 'node:path';
import { dump } from 'js-yaml';
import { afterEach, beforeEach, describe, expect, it } from 'vitest';
import { loadPack } from './index.ts';

const halves = { dev: ['sum'], 'held-out': [] as string[] };
const manifest = { name: 'mini', version: '1.0.0', licence: 'Apache-2.0', author: 'Written for this test.', halves };
const task = { id: 'minus', goal: 'Add.', break: [{ find: 'a + b', put: 'a - b' }] };
const check = (path: string): object => ({ files: { [path]: `# ${path}\n` } });
const family = {
  language: 'python',
  files: { 'sum.py': 'def add(a, b):\n    return a + b\n' },
  visible: check('test_sum.py'),
  hidden: check('hidden/test_more.py'),
  tasks: [task] as object[],
};

let folder: string;

beforeEach(async () => {
  folder = await mkdtemp(join(tmpdir(), 'agentfleet-packs-'));
  await mkdir(join(folder, 'tasks'));
});

afterEach(() => rm(folder, { recursive: true, force: true }));

async function pack(file: object, about: object = manifest): Promise<string> {
  await writeFile(join(folder, 'pack.json'), JSON.stringify(about));
  await writeFile(join(folder, 'tasks', 'sum.yaml'), dump(file));
  return folder;
}

describe('loadPack', () => {
  it('plants the bug and keeps the solution', async () => {
    const { tasks } = await loadPack(await pack(family));
    expect(tasks).toHaveLength(1);
    expect(tasks[0]).toMatchObject({
      id: 'mini/sum/minus',
      half: 'dev',
      kind: 'single',
      files: { 'sum.py': 'def add(a, b):\n    return a - b\n', 'test_sum.py': '# test_sum.py\n' },
      oracle: { files: family.files },
      visible: { command: ['python3', '-m', 'unittest', '-v', 'test_sum.py'], timeoutSeconds: 20 },
    });
    expect(Object.keys(tasks[0]?.files ?? {})).not.toContain('hidden/test_more.py');
  });

  it('reads oracles of edits and of whole files', async () => {
    const edits = { id: 'edit', goal: 'Multiply.', oracle: { edits: [{ find: 'a + b', put: 'a * b' }] } };
    const files = { id: 'file', goal: 'Write.', kind: 'write', oracle: { files: { 'sum.py': null, 'new.py': 'x = 1\n' } } };
    const { tasks } = await loadPack(await pack({ ...family, tasks: [edits, files] }));
    expect(tasks.map(({ kind, oracle }) => ({ kind, oracle }))).toEqual([
      { kind: 'single', oracle: { files: { 'sum.py': 'def add(a, b):\n    return a * b\n' } } },
      { kind: 'write', oracle: { files: { 'sum.py': null, 'new.py': 'x = 1\n' } } },
    ]);
  });

  it('gives a task files of its own', async () => {
    const own = { ...task, files: { 'own.txt': 'x\n' } };
    const { tasks } = await loadPack(await pack({ ...family, tasks: [own, { ...task, id: 'other' }] }));
    expect(tasks[0]?.files).toMatchObject({ 'own.txt': 'x\n', 'sum.py': 'def add(a, b):\n    return a - b\n' });
    expect(tasks[1]?.files).not.toHaveProperty('own.txt');
  });

  it('distinguishes kinds by the places of edits', async () => {
    const files = { 'a.py': 'x = 1\ny = 2\n', 'b.py': 'z = 3\n' };
    const edit = (path: string, find: string): object => ({ in: path, find, put: '0' });
    const tasks = [
      { ...task, id: 'two', break: [edit('a.py', '1'), edit('a.py', '2')] },
      { ...task, id: 'far', break: [edit('a.py', '1'), edit('b.py', '3')] },
    ];
    const loaded = await loadPack(await pack({ ...family, files, tasks }));
    expect(loaded.tasks.map(({ kind }) => kind)).toEqual(['multi-edit', 'multi-file']);
    expect(loaded.tasks[1]?.partial).toEqual([{ files: { 'b.py': 'z = 3\n' } }, { files: { 'a.py': 'x = 1\ny = 2\n' } }]);
  });

  it('begins after an earlier task where its oracle ended', async () => {
    const first = { id: 'one', goal: 'Multiply.', oracle: { edits: [{ find: 'a + b', put: 'a * b' }] } };
    const second = { id: 'two', goal: 'Write.', after: 'one', kind: 'write', oracle: { files: { 'new.py': 'x = 1\n' } } };
    const plain = await loadPack(await pack({ ...family, tasks: [first, second] }));
    expect(plain.tasks[1]).toMatchObject({ files: { 'sum.py': 'def add(a, b):\n    return a * b\n' }, setup: [] });
    const operate = { ...second, oracle: { script: 'mkdir out' }, kind: 'operate', setup: 'touch b' };
    const third = { ...operate, id: 'three', after: 'two' };
    const scripted = await loadPack(await pack({ ...family, setup: 'touch a', tasks: [first, operate, third] }));
    expect(scripted.tasks.map(({ setup }) => setup)).toEqual([
      ['touch a'],
      ['touch a', expect.stringContaining('base64 -d'), 'touch b'],
      ['touch a', expect.stringContaining('base64 -d'), 'touch b', 'mkdir out', 'touch b'],
    ]);
    await expect(loadPack(await pack({ ...family, tasks: [second, first] }))).rejects.toThrow(/comes after one, which is no earlier task/);
  });

  it('gives a task the same seed every time', async () => {
    const seeds = [await loadPack(await pack(family)), await loadPack(folder)].map(({ tasks }) => tasks[0]?.seed);
    expect(seeds[0]).toBe(seeds[1]);
    const given = await loadPack(await pack({ ...family, tasks: [{ ...task, seed: 7 }] }));
    expect(given.tasks[0]?.seed).toBe(7);
  });

  it.each<[string, object, RegExp]>([
    ['two tasks of one id', { ...family, tasks: [task, task] }, /mini\/sum\/minus is there twice/],
    ['an unknown field', { ...family, tasks: [{ ...task, gaol: 'x' }] }, /\/tasks\/0 .*additional properties: gaol/],
    ['neither oracle nor bug', { ...family, tasks: [{ id: 'a', goal: 'b' }] }, /\/tasks\/0 must have required property 'break'/],
    ['text that is not there', { ...family, tasks: [{ ...task, break: [{ find: 'a / b', put: '' }] }] }, /minus "a \/ b" stands 0 times/],
    ['text that is there twice', { ...family, tasks: [{ ...task, break: [{ find: 'a', put: 'b' }] }] }, /"a" stands 3 times in sum\.py/],
    ['an oracle that does nothing', { ...family, tasks: [{ ...task, break: [{ find: 'a + b', put: 'a + b' }] }] }, /changes nothing/],
    ['a hidden file that is visible', { ...family, hidden: check('test_sum.py') }, /shows its hidden file test_sum\.py/],
    [
      'a hidden file under another name',
      { ...family, hidden: { files: { 'hidden/test_more.py': '# test_sum.py\n' } } },
      /shows its hidden file hidden\/test_more\.py as test_sum\.py/,
    ],
    [
      'a hidden file that set-up writes',
      { ...family, setup: 'echo "# hidden/test_more.py" > x' },
      /writes its hidden file hidden\/test_more\.py/,
    ],
    ['a hidden check that passes', { ...family, hidden: { files: {}, start: 'passes' } }, /has a hidden check that passes at the start/],
    ['a set-up that fits no command', { ...family, setup: 'x'.repeat(9000) }, /setup must NOT have more than 8192 characters/],
    ['a decoy that does nothing', { ...family, tasks: [{ ...task, decoys: [{ why: 'x' }] }] }, /decoys\/0 must NOT have fewer than 2/],
    ['no hidden check', { ...family, hidden: undefined }, /has no hidden check/],
    ['a path that leaves the workspace', { ...family, files: { '../sum.py': '' } }, /\/files property name must be valid/],
    ['a name that no object can have', { ...family, tasks: [{ ...task, id: 'x'.repeat(48) }] }, /has an id of 57 characters; 56 fit/],
  ])('refuses %s', async (_, file, message) => {
    await expect(loadPack(await pack(file))).rejects.toThrow(message);
  });

  it.each<[string, object, RegExp]>([
    ['in both halves', { dev: ['sum'], 'held-out': ['sum'] }, /sum lies in both halves/],
    ['in no half', { dev: [], 'held-out': [] }, /sum lies in no half/],
    ['that is not there', { dev: ['sum', 'gone'], 'held-out': [] }, /there is no tasks\/gone\.yaml/],
  ])('refuses a family %s', async (_, halves, message) => {
    await expect(loadPack(await pack(family, { ...manifest, halves }))).rejects.toThrow(message);
  });

  it('names the file that cannot be read', async () => {
    await pack(family);
    await writeFile(join(folder, 'tasks', 'sum.yaml'), 'language: [');
    await expect(loadPack(folder)).rejects.toThrow(/sum\.yaml cannot be read/);
    await expect(loadPack(join(folder, 'tasks'))).rejects.toThrow(/is no pack/);
  });
});
