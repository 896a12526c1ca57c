import { testOperator } from '../testing/table.ts';
import { reuseExpression } from './reuseExpression.ts';

testOperator(reuseExpression, [
  {
    before: 'def f(xs):\n    best = 0\n    for x in xs:\n        best = max(best, x)\n    return best\n',
    after: 'def f(xs):\n    best = 0\n    for x in xs:\n        best = max(best, x)\n    return max(best, x)\n',
  },
]);
