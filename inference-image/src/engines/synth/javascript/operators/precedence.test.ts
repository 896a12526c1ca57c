import { testOperator } from '../testing/table.ts';
import { precedence } from './precedence.ts';

testOperator(precedence, [
  { before: 'x = a * b + c;\n', after: 'x = a * (b + c);\n' },
  { before: 'x = a ?? 0 + b;\n', after: 'x = (a ?? 0) + b;\n' },
  { before: 'x = !a in b;\n', after: 'x = !(a in b);\n' },
]);
