import { readFile } from 'node:fs/promises';
import { join } from 'node:path';
import type { RecordedCandidate, RecordedEdit } from '@agentfleet/protocol/inference';
import { afterAll, beforeAll, expect, test, vi } from 'vitest';
import { LocalSandbox } from './localSandbox.ts';
import { generalist, LoopBed, taskFor } from './loopBed.ts';

vi.setConfig({ testTimeout: 180_000 });

/** Edits that the checks do not need are not in the result, however they came into the search. */
let bed: LoopBed;
beforeAll(async () => {
  bed = await LoopBed.open();
});
afterAll(() => bed[Symbol.asyncDispose]());

const source = 'def add(a, b):\n    return a - b\n\n\ndef twice(n):\n    return n\n\n\ndef name():\n    return "calc"\n';
const repaired = source.replace('a - b', 'a + b').replace('return n\n', 'return n * 2\n');
const files = {
  'calc.py': source,
  'test_calc.py':
    'import unittest\n\nfrom calc import add, twice\n\n\nclass Calc(unittest.TestCase):\n    def test_add(self):\n        self.assertEqual(add(2, 3), 5)\n\n' +
    '    def test_zero(self):\n        self.assertEqual(twice(0) + add(1, 0), 1)\n\n    def test_twice(self):\n        self.assertEqual(twice(4), 8)\n',
};
const edit = (before: string, after: string): RecordedEdit => ({ path: 'calc.py', before, after });
const candidate = (operator: string, ...edits: readonly RecordedEdit[]): RecordedCandidate => ({
  edits: [...edits],
  acts: [],
  weight: 1,
  operator,
  rationale: operator,
});
const plus = edit('return a - b', 'return a + b');
const double = edit('return n\n', 'return n * 2\n');
const unneeded = edit('"calc"', '"calculator"');
/** Makes one test pass, and is not needed any more once the function is repaired. */
const accident = edit('def add(a, b):', 'def add(a, b):\n    if (a, b) == (2, 3):\n        return 5');

test.each<readonly [name: string, steps: readonly (readonly RecordedCandidate[])[]]>([
  ['an edit beside the repair', [[candidate('three', plus, double, unneeded)]]],
  ['an edit of an accepted step', [[candidate('first', plus, unneeded)], [candidate('second', double)]]],
  ['a step that a later one made needless', [[candidate('accident', accident)], [candidate('both', plus, double)]]],
  ['nothing that is needed', [[candidate('first', plus)], [candidate('second', double)]]],
])('%s: the result has what the checks need', async (name, steps) => {
  await using sandbox = await LocalSandbox.open();
  const goal = `Repair it: ${name}.`;
  const url = await bed.replay(goal, steps);
  const run = bed.begin(sandbox, taskFor(files, ['python3', '-m', 'unittest', '-v'], goal), { experts: [generalist(url)], verifier: null });
  expect(await bed.run(run)).toMatchObject({ result: 'Succeeded' });
  expect(await readFile(join(sandbox.folder, 'workspace', 'calc.py'), 'utf8')).toBe(repaired);
});
