import { testOperator } from '../testing/table.ts';
import { comparison } from './comparison.ts';

testOperator(comparison, [
  { before: 'x = a < b;\n', after: 'x = a <= b;\n', never: ['x = a + b;\n'] },
  { before: 'x = a == b;\n', after: 'x = a === b;\n' },
  { before: 'x = a !== b;\n', after: 'x = a === b;\n' },
  { before: 'x = a in b;\n', after: 'x = Object.hasOwn(b, a);\n' },
]);
