import { describe, expect, it } from 'vitest';
import { buildTasks, type PackTask, type TaskFile } from '../format/index.ts';
import { readCounts } from './judge.ts';
import { fixedSample, taskLine, requireSound, verifyTask } from './verify.ts';

const options = { memoryMiB: 512, signal: new AbortController().signal };

const asserts = (...lines: string[]): string =>
  [
    'import unittest',
    'from sum import add, double',
    'class Sums(unittest.TestCase):',
    '    def test_it(self):',
    ...lines.map((line) => `        ${line}`),
    '',
  ].join('\n');

const good: TaskFile = {
  language: 'python',
  files: { 'sum.py': 'def add(a, b):\n    return a + b\n\n\ndef double(a):\n    return 2 * a\n' },
  visible: { files: { 'test_sum.py': asserts('self.assertEqual(add(1, 2), 3)') } },
  hidden: { files: { 'hidden/test_more.py': asserts('self.assertEqual(add(-1, 4), 3)') } },
  tasks: [{ id: 'minus', goal: 'Add.', break: [{ find: 'a + b', put: 'a - b' }] }],
};

function only(file: TaskFile): PackTask {
  return buildTasks(file, { pack: 'mini', family: 'sum', half: 'dev' })[0] as PackTask;
}

async function refusals(file: TaskFile, bounds = {}): Promise<readonly string[]> {
  return (await verifyTask(only(file), bounds, options)).refusals;
}

describe('verifyTask', () => {
  it('accepts a sound task', async () => {
    const report = await verifyTask(only(good), { visibleTests: [1, 1], visibleFailing: [1, 1], hiddenTests: [1, 1] }, options);
    expect(report.refusals).toEqual([]);
    expect(report.noOp.visible.counts).toEqual({ tests: 1, failed: 1 });
    expect(taskLine(report)).toMatch(/^ok {7}mini\/sum\/minus .* fail 0\/1 .* pass 1\/1 /);
  });

  it('refuses a check that always passes', async () => {
    const always = asserts('self.assertTrue(True)');
    expect(await refusals({ ...good, visible: { files: { 'test_sum.py': always } } })).toEqual([
      expect.stringContaining('the no-op passes its visible check'),
    ]);
    expect(await refusals({ ...good, hidden: { files: { 'hidden/test_more.py': always } } })).toEqual([
      expect.stringContaining('the no-op passes its hidden check'),
    ]);
  });

  it('refuses an oracle that does not pass', async () => {
    const wrong = asserts('self.assertEqual(add(1, 1), 3)');
    expect(await refusals({ ...good, visible: { files: { 'test_sum.py': wrong } } })).toEqual([
      expect.stringMatching(/oracle does not pass the visible check: status 1\n[^]*AssertionError/),
    ]);
    expect(await refusals({ ...good, hidden: { files: { 'hidden/test_more.py': wrong } } })).toEqual([
      expect.stringContaining('its oracle does not pass the hidden check'),
    ]);
  });

  it('refuses an edit that is not needed', async () => {
    const edits = [
      { find: 'a + b', put: 'a - b' },
      { find: '2 * a', put: 'a * 3' },
    ];
    expect(await refusals({ ...good, tasks: [{ id: 'two', goal: 'Add.', break: edits }] })).toEqual([
      expect.stringContaining('its edit 2 is not needed'),
    ]);
  });

  const operate: TaskFile = {
    language: 'shell',
    files: { 'notes.txt': 'one\n' },
    setup: 'ln -s notes.txt latest; printf "\\000" > blob',
    visible: { files: {}, command: ['test', '-L', 'latest'], start: 'passes' },
    hidden: { files: {}, command: ['sh', '-c', 'tar -tf all.tar | grep -qx latest'] },
    tasks: [{ id: 'archive', goal: 'Archive all.', kind: 'operate', oracle: { script: 'tar -cf all.tar latest notes.txt blob' } }],
  };
  const decoyed = (...decoys: TaskFile['tasks'][number]['decoys'] & object): TaskFile => ({
    ...operate,
    tasks: [{ ...(operate.tasks[0] as TaskFile['tasks'][number]), decoys }],
  });

  it('prepares a workspace and runs an oracle by scripts', async () => {
    expect(await refusals(operate)).toEqual([]);
    expect(await refusals({ ...operate, setup: 'exit 3' })).toContainEqual(expect.stringContaining('its set-up fails: status 3'));
    const broken = { id: 'archive', goal: 'x', kind: 'operate', oracle: { script: 'tar -cf all.tar nothing' } } as const;
    expect(await refusals({ ...operate, tasks: [broken] })).toEqual([expect.stringContaining('its oracle script fails: status 2')]);
  });

  it('refuses a visible check that is declared to pass and does not', async () => {
    const visible = { files: {}, command: ['test', '-e', 'all.tar'], start: 'passes' } as const;
    expect(await refusals({ ...operate, visible })).toEqual([expect.stringContaining('the no-op does not pass its visible check')]);
  });

  it('refuses a hidden check that a wrong solution passes', async () => {
    expect(await refusals(decoyed({ why: 'leaves the link out', script: 'tar -cf all.tar notes.txt blob' }))).toEqual([]);
    expect(await refusals(decoyed({ why: 'forgets the file', script: 'tar -cf all.tar latest' }))).toEqual([
      expect.stringContaining('its decoy 1 (forgets the file) passes the hidden check'),
    ]);
    expect(await refusals(decoyed({ why: 'ends badly', script: 'false' }))).toEqual([
      expect.stringContaining('the script of its decoy 1 (ends badly) fails'),
    ]);
  });

  it('reports which program a task needs', async () => {
    await expect(refusals({ ...operate, needs: ['no-such-program', 'sh'] })).rejects.toThrow(/needs no-such-program; install it/);
  });

  it('refuses numbers of tests out of bounds', async () => {
    expect(await refusals(good, { visibleTests: [4, 10], visibleFailing: [2, 3], hiddenTests: [2, 6] })).toEqual([
      expect.stringContaining('1 visible tests, not 4 to 10'),
      expect.stringContaining('1 visible tests that fail, not 2 to 3'),
      expect.stringContaining('1 hidden tests, not 2 to 6'),
    ]);
  });

  it('refuses a bug that lets the tests run for ever', async () => {
    const command = ['node', '-e', "if (require('fs').readFileSync('sum.py', 'utf8').includes('a - b')) setInterval(() => {}, 1000)"];
    const file = { ...good, visible: { files: { 'test_sum.py': '' }, command, timeoutSeconds: 1 } };
    expect(await refusals(file)).toEqual([expect.stringContaining('the no-op ends its visible check with Timeout')]);
  });

  it('names every refused task', async () => {
    const tasks = [only(good), only({ ...good, hidden: { files: { 'hidden/test_more.py': asserts('pass') } } })];
    const manifest = { name: 'mini', version: '1.0.0', licence: 'x', author: 'x', halves: { dev: ['sum'], 'held-out': [] } };
    await expect(requireSound({ manifest, tasks }, { ...options, parallel: 2 })).rejects.toThrow(
      /^task mini\/sum\/minus: the no-op passes/,
    );
  });
});

describe('readCounts', () => {
  it('reads unittest', () => {
    expect(readCounts('Ran 9 tests in 0.01s\n\nFAILED (failures=1, errors=2)\n')).toEqual({ tests: 9, failed: 3 });
    expect(readCounts('Ran 1 test in 0.01s\n\nOK\n')).toEqual({ tests: 1, failed: 0 });
  });

  it('reads node:test in both of its forms', () => {
    expect(readCounts('ℹ tests 5\nℹ pass 3\nℹ fail 1\nℹ cancelled 1\n')).toEqual({ tests: 5, failed: 2 });
    expect(readCounts('# tests 5\n# pass 5\n# fail 0\n# cancelled 0\n')).toEqual({ tests: 5, failed: 0 });
  });

  it('reads nothing into other output', () => {
    expect(readCounts('all tests 5 of 5')).toBeUndefined();
  });
});

describe('fixedSample', () => {
  const task = only(good);
  const many = Array.from({ length: 40 }, (_, at): PackTask => ({ ...task, id: `t${at}`, kind: at === 39 ? 'multi-file' : 'single' }));

  it('is the same whatever the order', () => {
    expect(fixedSample(many.toReversed(), 6)).toEqual(fixedSample(many, 6));
  });

  it('has each kind', () => {
    expect(fixedSample(many, 3).map(({ kind }) => kind)).toContain('multi-file');
  });
});
