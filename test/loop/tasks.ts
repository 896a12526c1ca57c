import type { RecordedCandidate } from '@agentfleet/protocol/inference';
import type { Workspace } from './loopBed.ts';

const python = ['python3', '-m', 'unittest', '-v'] as const;

/** Files and the command that checks them. */
export interface ExampleTask {
  readonly files: Workspace;
  readonly command: readonly string[];
}

/** Two independent bugs in two files, with a failing test for each. */
export const twoBugs: ExampleTask = {
  command: python,
  files: {
    'total.py': 'def total(prices):\n    result = 0\n    for price in prices:\n        result -= price\n    return result\n',
    'rank.py':
      'def best(scores):\n    found = scores[0]\n    for score in scores:\n        if score < found:\n            found = score\n    return found\n',
    'test_shop.py':
      'import unittest\n\nfrom rank import best\nfrom total import total\n\n\nclass Shop(unittest.TestCase):\n' +
      '    def test_total(self):\n        self.assertEqual(total([2, 3]), 5)\n\n' +
      '    def test_best(self):\n        self.assertEqual(best([2, 7, 3]), 7)\n\n' +
      '    def test_one(self):\n        self.assertEqual(best([4]), 4)\n\n' +
      '    def test_none(self):\n        self.assertEqual(total([]), 0)\n',
  },
};

/** A wrong sign, and the test that fails for it. */
export const wrongSign: ExampleTask = {
  command: python,
  files: {
    'calc.py': 'def add(a, b):\n    return a - b\n',
    'test_calc.py':
      'import unittest\n\nfrom calc import add\n\n\nclass Calc(unittest.TestCase):\n    def test_add(self):\n        self.assertEqual(add(2, 3), 5)\n',
  },
};

/** One bug that one edit repairs. */
export const oneBug: ExampleTask = {
  command: python,
  files: {
    'clamp.py': 'def clamp(x, low, high):\n    if x < low:\n        return low\n    if x > high:\n        return low\n    return x\n',
    'test_clamp.py':
      'import unittest\n\nfrom clamp import clamp\n\n\nclass Clamp(unittest.TestCase):\n' +
      '    def test_low(self):\n        self.assertEqual(clamp(-4, 0, 9), 0)\n\n' +
      '    def test_high(self):\n        self.assertEqual(clamp(12, 0, 9), 9)\n\n' +
      '    def test_inside(self):\n        self.assertEqual(clamp(4, 0, 9), 4)\n',
  },
};

/** Proposals for {@link oneBug}: four useless ones, each likelier than the next, and the repair. */
export const fiveProposals: readonly RecordedCandidate[] = ['low + 1', 'low - 1', 'low * 2', 'x', 'high'].map((after, at) => ({
  edits: [{ path: 'clamp.py', before: 'x > high:\n        return low', after: `x > high:\n        return ${after}` }],
  acts: [],
  weight: 2 ** -at,
  operator: after,
  rationale: `returns ${after}`,
}));

/** Proposals for {@link twoBugs}: two useless ones and both repairs. */
export const fourProposals: readonly RecordedCandidate[] = [
  ['total.py', 'result = 0', 'result = 1'],
  ['total.py', '-=', '+='],
  ['rank.py', 'scores[0]', 'scores[-1]'],
  ['rank.py', '<', '>'],
].map(([path = '', before = '', after = ''], at) => ({
  edits: [{ path, before, after }],
  acts: [],
  weight: 1 - at / 10,
  operator: `${path} ${after}`,
  rationale: `writes ${after}`,
}));

/** An undefined name: its message has the fault, so that one proposal is far ahead. */
export const wrongName: ExampleTask = {
  command: python,
  files: {
    'area.py': 'def area(width):\n    return widht * width\n',
    'test_area.py':
      'import unittest\n\nfrom area import area\n\n\nclass Area(unittest.TestCase):\n' +
      '    def test_area(self):\n        self.assertEqual(area(3), 9)\n',
  },
};

/** A module whose tests are JavaScript: a test names the file that it imports, and so does that one. */
export const moduleBug: ExampleTask = {
  command: ['node', '--test', '--test-reporter=tap'],
  files: {
    'package.json': '{ "type": "module" }\n',
    'src/price.js': "import { rate } from './rate.js';\n\nexport const gross = (net) => net - net * rate;\n",
    'src/rate.js': 'export const rate = 0.5;\n',
    'src/unrelated.js': 'export const nothing = 0;\n',
    'node_modules/other/index.js': 'export default 1;\n',
    'test/price.test.js':
      "import assert from 'node:assert/strict';\nimport test from 'node:test';\n\nimport { gross } from '../src/price.js';\n\n" +
      "test('adds the tax', () => {\n  assert.equal(gross(100), 150);\n});\n",
  },
};

const proposal = (before: string, after: string, weight: number): RecordedCandidate => ({
  edits: [{ path: 'best.py', before, after }],
  acts: [],
  weight,
  operator: after,
  rationale: `writes ${after}`,
});

/** A constant that fits one of two failing tests is likelier than the repair; on the tree that it makes, nothing helps. */
export const accident = {
  goal: 'Find the best.',
  command: python,
  files: {
    'best.py':
      'def best(scores):\n    found = scores[0]\n    for score in scores:\n        if score < found:\n            found = score\n    return found\n',
    'test_best.py':
      'import unittest\n\nfrom best import best\n\n\nclass Best(unittest.TestCase):\n' +
      '    def test_three(self):\n        self.assertEqual(best([2, 7, 3]), 7)\n\n' +
      '    def test_two(self):\n        self.assertEqual(best([1, 4]), 4)\n',
  },
  steps: [
    [proposal('return found', 'return 7', 2), proposal('<', '>', 1)],
    Array.from({ length: 30 }, (_, at) => proposal('return 7', `return 7 + ${at + 1}`, 0.8 ** at)),
  ],
} as const;
