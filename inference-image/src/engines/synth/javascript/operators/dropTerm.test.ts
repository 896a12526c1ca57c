import { testOperator } from '../testing/table.ts';
import { dropTerm } from './dropTerm.ts';

testOperator(dropTerm, [
  { before: 'x = n - 1;\n', after: 'x = n;\n' },
  { before: 'x = a && b;\n', after: 'x = b;\n' },
  { before: 'x = a ? b : c;\n', after: 'x = c;\n' },
]);
