import { testOperator } from '../testing/table.ts';
import { constant } from './constant.ts';

testOperator(constant, [
  { before: 'x = true;\n', after: 'x = false;\n' },
  { before: 'x = f(3);\n', after: 'x = f(1);\n' },
  { before: "x = '';\n", after: "x = ' ';\n" },
  { before: 'return_ = undefined;\n', after: 'return_ = null;\n' },
]);
