import { testOperator } from '../testing/table.ts';
import { guardStatement } from './guardStatement.ts';

testOperator(guardStatement, [
  { before: 'def f(a):\n    a.pop()\n', after: 'def f(a):\n    if a:\n        a.pop()\n' },
  { before: 'def f(a, k):\n    del a[k]\n', after: 'def f(a, k):\n    if k in a:\n        del a[k]\n' },
]);
