import { testOperator } from '../testing/table.ts';
import { arithmetic } from './arithmetic.ts';

testOperator(arithmetic, [
  { before: 'x = a + b;\n', after: 'x = a - b;\n', never: ['x = a < b;\n'] },
  { before: 'x = -a;\n', after: 'x = a;\n' },
  { before: 'x = (i - 1) % n;\n', after: 'x = ((i - 1) + n) % n;\n' },
]);
