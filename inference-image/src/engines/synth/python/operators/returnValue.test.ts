import { testOperator } from '../testing/table.ts';
import { returnValue } from './returnValue.ts';

testOperator(returnValue, [
  { before: 'def f(a):\n    b = a\n    return a + 1\n', after: 'def f(a):\n    b = a\n    return b\n' },
  { before: 'def f():\n    return True\n', after: 'def f():\n    return False\n' },
  { before: 'def f(a):\n    return\n', after: 'def f(a):\n    return a\n' },
]);
