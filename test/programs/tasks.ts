// test, programs: task for agent programs, and scripted ways to solve or spoil it. May import any package.
import type { Step } from './model.ts';

/** The program's task: a function with a bug, and its test. */
export const broken = 'def add(a, b):\n    return a - b\n';
export const files = {
  'calc.py': broken,
  'test_calc.py':
    'import unittest\n\nfrom calc import add\n\n\nclass Calc(unittest.TestCase):\n    def test_add(self):\n        self.assertEqual(add(2, 3), 5)\n',
} as const;

export const repository = { files: Object.entries(files).map(([path, content]) => ({ path, content })) };

const look: Step = { command: 'cat calc.py' };
const repair: Step = { command: "sed -i 's/a - b/a + b/' calc.py" };

/** Solves it. */
export const solve: readonly Step[] = [look, repair, { command: 'python3 -m unittest' }];
/** Leaves it wrong, with a file more. */
export const spoil: readonly Step[] = [look, { command: "sed -i 's/a - b/a * b/' calc.py; touch extra.py" }];
/** Is held after it wrote a file; a run on a tree that still has that file leaves another one, which no run takes away. */
export const heldInTheMiddle: readonly Step[] = [
  { command: 'if test -e half.txt; then touch half-left.txt; fi; touch half.txt' },
  { ...look, heldSeconds: 60 },
  // Long enough for the runner to see it.
  { command: "rm half.txt; sed -i 's/a - b/a + b/' calc.py; sleep 1" },
];
