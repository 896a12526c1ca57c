import { testOperator } from '../testing/table.ts';
import { booleanOperator } from './booleanOperator.ts';

testOperator(booleanOperator, [
  { before: 'x = a and b\n', after: 'x = a or b\n' },
  { before: 'x = a or b and c\n', after: 'x = a or b or c\n' },
]);
