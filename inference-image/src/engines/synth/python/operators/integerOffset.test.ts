import { testOperator } from '../testing/table.ts';
import { integerOffset } from './integerOffset.ts';

testOperator(integerOffset, [
  { before: 'for i in range(n):\n    pass\n', after: 'for i in range(n + 1):\n    pass\n' },
  { before: 'x = a[b:c]\n', after: 'x = a[b:c - 1]\n' },
  { before: 'x = a[len(a)]\n', after: 'x = a[len(a) - 1]\n' },
  { before: 'x = f(3)\n', after: 'x = f(4)\n' },
]);
