import { testOperator } from '../testing/table.ts';
import { statementDelete } from './statementDelete.ts';

testOperator(statementDelete, [
  { before: 'a = 1\nf(a)\ng(a)\n', after: 'a = 1\ng(a)\n' },
  { before: 'if a:\n    f(a)\n', after: 'if a:\n    pass\n' },
]);
