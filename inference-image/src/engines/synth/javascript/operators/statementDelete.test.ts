import { testOperator } from '../testing/table.ts';
import { statementDelete } from './statementDelete.ts';

testOperator(statementDelete, [
  { before: 'f();\ng();\n', after: 'g();\n' },
  { before: 'if (a) f();\n', after: 'if (a) {}\n' },
]);
