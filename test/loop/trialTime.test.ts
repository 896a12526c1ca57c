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
  const notes = tried(sandbox) as unknown as readonly { readonly operator: string; readonly why: string }[];
  expect(notes.map(({ operator }) => operator)).toEqual(['hangs', 'no help', 'hangs']);
  expect(notes[0]?.why).toMatch(/did not end within 10 s/);
  expect(notes[2]?.why).toMatch(/out of time/);
});
