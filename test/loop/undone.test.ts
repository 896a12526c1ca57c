import { expect, vi } from 'vitest';
import { AgentBed, runnerOfTests, ScriptedModels, steps } from './agentBed.ts';
import { taskFor } from './loopBed.ts';
import { wrongSign } from './tasks.ts';

vi.setConfig({ testTimeout: 300_000, hookTimeout: 120_000 });

/** Commands that are undone by what they left, as a model sees them, on a real keeper and a real runner. */
const { binary, test } = await runnerOfTests();

const run = (command: string) => ({ calls: [['bash', { command }]] as const });

test('a command that changed a protected file is undone, and its result says how the rest may stand', async () => {
  await using bed = await AgentBed.open(binary);
  const files = { ...wrongSign.files, 'fix.sh': 'echo "# x" >> test_calc.py\necho made > made.txt\n' };
  const models = new ScriptedModels(steps(run('sh fix.sh')));
  await bed.engine.run(bed.begin(taskFor(files, wrongSign.command), models).context);
  const [seen] = (models.requests[1]?.messages ?? []).flatMap(({ role, text }) => (role === 'Tool' ? [text] : []));
  expect(seen).toMatch(/refused and undone.*after its commands test_calc\.py was changed: it is protected/s);
  expect(seen).toMatch(/\nAllowed instead: The same without that change; what is for a trial only may lie below \/tmp\.$/);
});

test('a test module of its own may be formatted by a command', async () => {
  await using bed = await AgentBed.open(binary);
  const files = {
    ...wrongSign.files,
    'add.sh': 'echo "import unittest" > test_own.py\n',
    'format.sh': 'echo "# formatted" >> test_own.py\n',
  };
  const models = new ScriptedModels(steps(run('sh add.sh'), run('sh format.sh')));
  await bed.engine.run(bed.begin(taskFor(files, wrongSign.command), models).context);
  const seen = (models.requests[2]?.messages ?? []).flatMap(({ role, text }) => (role === 'Tool' ? [text] : []));
  expect(seen[0]).toContain('files: test_own.py (new)');
  expect(seen[1]).toContain('files: test_own.py (changed)');
});

test('a command on all files that is undone for one of them is told to name its own', async () => {
  await using bed = await AgentBed.open(binary);
  const files = { ...wrongSign.files, 'format.sh': 'for f in "$1"/*.py; do echo "# formatted" >> "$f"; done\n' };
  const models = new ScriptedModels(steps(run('sh format.sh .')));
  await bed.engine.run(bed.begin(taskFor(files, wrongSign.command), models).context);
  expect(models.requests[1]?.messages.at(-1)?.text).toMatch(
    /\nAllowed instead: The same without that change, on files that you name; what/,
  );
});

test('an empty folder among the tests may be made and taken away, and keeps no result from being proved', async () => {
  await using bed = await AgentBed.open(binary);
  const files = { ...wrongSign.files, 'tests/test_more.py': 'import unittest\n' };
  const mend = ['edit_file', { path: 'calc.py', old_text: 'a - b', new_text: 'a + b' }] as const;
  const models = new ScriptedModels(
    steps(run('mkdir -p tests/own/deep'), run('rmdir tests/own/deep'), { calls: [mend, ['submit', { answer: 'done' }]] }),
  );
  expect(await bed.engine.run(bed.begin(taskFor(files, wrongSign.command), models).context)).toMatchObject({ result: 'Succeeded' });
  const seen = (models.requests[2]?.messages ?? []).flatMap(({ role, text }) => (role === 'Tool' ? [text] : []));
  expect(seen.map((text) => text.slice(0, 14))).toEqual(['[exit status 0', '[exit status 0']);
});

const build = {
  '.gitignore': 'build/\n',
  'build.sh': 'mkdir build && for n in $(seq 300); do echo "test_x" > build/$n.js; done && echo passed > build/ok\n',
};

test('a build into a folder that git leaves out stands, however many files it writes', async () => {
  await using bed = await AgentBed.open(binary);
  const mend = { calls: [['edit_file', { path: 'calc.py', old_text: 'a - b', new_text: 'a + b' }]] } as const;
  const models = new ScriptedModels(steps(run('sh build.sh'), mend, { calls: [['submit', { answer: 'done' }]] }));
  const outcome = await bed.engine.run(bed.begin(taskFor({ ...wrongSign.files, ...build }, wrongSign.command), models).context);
  expect(outcome).toMatchObject({ result: 'Succeeded' });
  const [seen] = (models.requests[1]?.messages ?? []).flatMap(({ role, text }) => (role === 'Tool' ? [text] : []));
  expect(seen).toMatch(/^\[exit status 0, \d.* s, no output\]$/);
});

test('what a build left proves nothing', async () => {
  await using bed = await AgentBed.open(binary);
  const models = new ScriptedModels(steps(run('sh build.sh'), { calls: [['submit', { answer: 'done' }]] }));
  const check = ['sh', '-c', 'test -e fixed.txt || grep -qs passed b*/ok'];
  expect(await bed.engine.run(bed.begin(taskFor(build, check), models).context)).toMatchObject({ result: 'Failed' });
  expect(models.requests[2]?.messages.at(-1)?.text).toContain('refused: in a fresh container');
});
