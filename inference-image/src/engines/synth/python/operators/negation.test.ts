import { testOperator } from '../testing/table.ts';
import { negation } from './negation.ts';

testOperator(negation, [
  { before: 'if a:\n    pass\n', after: 'if not a:\n    pass\n' },
  { before: 'x = not a\n', after: 'x = a\n' },
  { before: 'while a < b:\n    pass\n', after: 'while not (a < b):\n    pass\n' },
]);
