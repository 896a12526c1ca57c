import { testOperator } from '../testing/table.ts';
import { swapArguments } from './swapArguments.ts';

testOperator(swapArguments, [
  { before: 'f(a, b)\n', after: 'f(b, a)\n' },
  { before: 'x = a - b\n', after: 'x = b - a\n' },
  { before: 'x = g[i][j]\n', after: 'x = g[j][i]\n' },
  { before: 'x = a if c else b\n', after: 'x = b if c else a\n' },
]);
