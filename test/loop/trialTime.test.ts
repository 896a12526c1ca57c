import type { PoolBrief } from '@agentfleet/protocol/pool';
import { expect, test, vi } from 'vitest';
import { LocalSandbox } from './localSandbox.ts';
import { LoopBed, taskFor, tried } from './loopBed.ts';

vi.setConfig({ testTimeout: 180_000 });

test('a candidate that never ends costs seconds, and all the time of its check only once nothing else is left', async () => {
  await using bed = await LoopBed.open();
  await using sandbox = await LocalSandbox.open();
  const goal = 'Repair it.';
  const source = 'def add(a, b):\n    return a - b\n';
  const test =
    'import unittest\n\nfrom calc import add\n\n\nclass Calc(unittest.TestCase):\n    def test_add(self):\n        self.assertEqual(add(2, 3), 5)\n';
  const propose = (operator: string, after: string) => ({
    edits: [{ path: 'calc.py', before: 'return a - b', after }],
    acts: [],
    weight: 1,
    operator,
    rationale: operator,
  });
  const url = await bed.replay(goal, [[propose('hangs', 'while a:\n        pass')], [propose('no help', 'return b - a')]]);
  const expert: PoolBrief['experts'][number] = { name: 'gen', role: 'Generalist', engine: 'Replay', domains: ['*'], url };
  const spec = taskFor({ 'calc.py': source, 'test_calc.py': test }, ['python3', '-m', 'unittest', '-v'], goal);
  const checks = (spec.checks ?? []).map((check) => ({ ...check, timeoutSeconds: 13 }));
  const run = bed.begin(sandbox, { ...spec, checks }, { experts: [expert], verifier: null });
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
  const goal = 'Repair it.';
  const propose = (operator: string, after: string) => ({
    edits: [{ path: 'calc.py', before: 'return a - b', after }],
    acts: [],
    weight: 1,
    operator,
    rationale: operator,
  });
  const wrong = ['b - a', 'a * b', 'a'].map((after) => propose(after, `return ${after}`));
  const url = await bed.replay(goal, [[...wrong, propose('one only', 'return 5'), propose('right', 'return a + b')]]);
  const expert: PoolBrief['experts'][number] = { name: 'gen', role: 'Generalist', engine: 'Replay', domains: ['*'], url };
  const files = { 'calc.py': 'def add(a, b):\n    return a - b\n', 'test_calc.py': quickTests };
  const run = bed.begin(sandbox, taskFor(files, ['python3', '-B', '-m', 'unittest', '-v'], goal), { experts: [expert], verifier: null });
  expect(await bed.run(run)).toMatchObject({ result: 'Succeeded' });
  const facts = tried(sandbox).map(({ operator, result, facts: { testsTotal } }) => [operator, result, testsTotal]);
  expect(facts).toEqual([...wrong.map(({ operator }) => [operator, 'Equal', 1]), ['one only', 'Worse', 3], ['right', 'Reached', 3]]);
});
