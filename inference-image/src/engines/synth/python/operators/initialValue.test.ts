import { testOperator } from '../testing/table.ts';
import { initialValue } from './initialValue.ts';

testOperator(initialValue, [
  {
    before: 'def f(xs):\n    best = 0\n    for x in xs:\n        best = max(best, x)\n',
    after: "def f(xs):\n    best = float('-inf')\n    for x in xs:\n        best = max(best, x)\n",
  },
  { before: 'x = 0\n', after: 'x = 1\n' },
  { before: 'x = None\n', after: 'x = []\n' },
]);
