import { testOperator } from '../testing/table.ts';
import { comparison } from './comparison.ts';

testOperator(comparison, [
  { before: 'x = a < b\n', after: 'x = a <= b\n' },
  { before: 'x = a not in b\n', after: 'x = a in b\n' },
  { before: 'x = a is b\n', after: 'x = a is not b\n' },
  { before: 'x = a < b < c\n', after: 'x = a < b <= c\n' },
  { before: 'x = a == b\n', after: 'x = a != b\n' },
]);
