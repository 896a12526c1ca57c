import { testOperator } from '../testing/table.ts';
import { negation } from './negation.ts';

testOperator(negation, [
  { before: 'if (a) f();\n', after: 'if (!a) f();\n' },
  { before: 'if (!(a && b)) f();\n', after: 'if (a && b) f();\n' },
  { before: 'x = list.filter((item) => item.done);\n', after: 'x = list.filter((item) => !item.done);\n' },
  { before: 'x = a && has(b);\n', after: 'x = a && !has(b);\n' },
]);
