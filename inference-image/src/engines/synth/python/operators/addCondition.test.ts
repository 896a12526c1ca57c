import { testOperator } from '../testing/table.ts';
import { addCondition } from './addCondition.ts';

testOperator(addCondition, [
  { before: 'def f(a, b):\n    if b > 1:\n        return a\n', after: 'def f(a, b):\n    if a and b > 1:\n        return a\n' },
  { before: 'def f(a, b):\n    while a or b:\n        b = a\n', after: 'def f(a, b):\n    while (a or b) and not a:\n        b = a\n' },
]);
