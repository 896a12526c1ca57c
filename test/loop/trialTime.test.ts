import { expect, test, vi } from 'vitest';
import { LocalSandbox } from './localSandbox.ts';
import { generalist, LoopBed, taskFor, tried } from './loopBed.ts';
import { wrongSign } from './tasks.ts';

vi.setConfig({ testTimeout: 180_000 });

const goal = 'Repair it.';
const propose = (operator: string, after: string) => ({
  edits: [{ path: 'calc.py', before: 'return a - b', after }],
  acts: [],
  weight: 1,
  operator,
  rationale: operator,
});

test('a candidate that never ends costs seconds, and all the time of its check only once nothing else is left', async () => {
  await using bed = await LoopBed.open();
  await using sandbox = await LocalSandbox.open();
  const url = await bed.replay(goal, [[propose('hangs', 'while a:\n        pass')], [propose('no help', 'return b - a')]]);
  const spec = taskFor(wrongSign.files, wrongSign.command, goal);
  const checks = (spec.checks ?? []).map((check) => ({ ...check, timeoutSeconds: 13 }));
  const run = bed.begin(sandbox, { ...spec, checks }, { experts: [generalist(url)], verifier: null });
  expect(await bed.run(run)).toMatchObject({ result: 'Failed', class: 'Stuck' });
  const notes = tried(sandbox) as unknown as readonly { readonly operator: string; readonly step: number; readonly why: string }[];
  // The last one is of the first round, although the record was asked for its end meanwhile.
  expect(notes.map(({ operator, step }) => [operator, step])).toEqual([
    ['hangs', 0],
    ['no help', 1],
    ['hangs', 0],
  ]);
  expect(notes[0]?.why).toMatch(/did not end within 1\d s/);
  expect(notes[2]?.why).toMatch(/out of time/);
});

const slow = (name: string): string => `    def test_${name}(self):\n        time.sleep(1.5)\n        self.assertEqual(add(0, 0), 0)\n`;
const quickTests = `import time\nimport unittest\n\nfrom calc import add\n\n\nclass Calc(unittest.TestCase):\n    def test_add(self):\n        self.assertEqual(add(2, 3), 5)\n\n${slow('a')}\n${slow('b')}`;

test('a candidate runs the failing test alone, and the whole check only when that passes', async () => {
  await using bed = await LoopBed.open();
  await using sandbox = await LocalSandbox.open();
  const wrong = ['b - a', 'a * b', 'a'].map((after) => propose(after, `return ${after}`));
  const url = await bed.replay(goal, [[...wrong, propose('one only', 'return 5'), propose('right', 'return a + b')]]);
  const files = { ...wrongSign.files, 'test_calc.py': quickTests };
  const run = bed.begin(sandbox, taskFor(files, ['python3', '-B', '-m', 'unittest', '-v'], goal), {
    experts: [generalist(url)],
    verifier: null,
  });
  expect(await bed.run(run)).toMatchObject({ result: 'Succeeded' });
  const facts = tried(sandbox).map(({ operator, result, facts: { testsTotal } }) => [operator, result, testsTotal]);
  expect(facts).toEqual([...wrong.map(({ operator }) => [operator, 'Equal', 1]), ['one only', 'Worse', 3], ['right', 'Reached', 3]]);
});
