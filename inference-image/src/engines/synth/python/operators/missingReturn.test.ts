import { testOperator } from '../testing/table.ts';
import { missingReturn } from './missingReturn.ts';

testOperator(missingReturn, [
  { before: 'def f(a):\n    g(a)\n', after: 'def f(a):\n    return g(a)\n' },
  { before: 'def f(a):\n    b = a + 1\n', after: 'def f(a):\n    b = a + 1\n    return b\n' },
]);
