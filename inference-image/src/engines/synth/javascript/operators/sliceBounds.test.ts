import { testOperator } from '../testing/table.ts';
import { sliceBounds } from './sliceBounds.ts';

testOperator(sliceBounds, [
  { before: 'x = list.slice(i, size);\n', after: 'x = list.slice(i, i + size);\n' },
  { before: 'x = list.slice(n);\n', after: 'x = list.slice(0, n);\n' },
  { before: 'x = list[list.length];\n', after: 'x = list[list.length - 1];\n' },
  { before: 'list.splice(i);\n', after: 'list.splice(i, 1);\n' },
  { before: 'x = list[-1];\n', after: 'x = list.at(-1);\n' },
]);
