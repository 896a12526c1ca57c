import { testOperator } from '../testing/table.ts';
import { dropTerm } from './dropTerm.ts';

testOperator(dropTerm, [
  { before: 'x = a + 1\n', after: 'x = a\n' },
  { before: 'x = a and b\n', after: 'x = b\n' },
  { before: 'x = a if c else b\n', after: 'x = b\n' },
]);
