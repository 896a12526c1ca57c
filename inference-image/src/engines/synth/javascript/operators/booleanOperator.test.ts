import { testOperator } from '../testing/table.ts';
import { booleanOperator } from './booleanOperator.ts';

testOperator(booleanOperator, [
  { before: 'x = a && b;\n', after: 'x = a || b;\n' },
  { before: 'x = a || 3;\n', after: 'x = a ?? 3;\n' },
]);
