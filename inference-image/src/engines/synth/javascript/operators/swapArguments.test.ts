import { testOperator } from '../testing/table.ts';
import { swapArguments } from './swapArguments.ts';

testOperator(swapArguments, [
  { before: 'f(a, b, c);\n', after: 'f(b, a, c);\n' },
  { before: 'x = a - b;\n', after: 'x = b - a;\n' },
  { before: 'x = grid[i][j];\n', after: 'x = grid[j][i];\n' },
  { before: 'list.map((index, item) => item);\n', after: 'list.map((item, index) => item);\n' },
  { before: 'x = a ? b : c;\n', after: 'x = a ? c : b;\n' },
]);
