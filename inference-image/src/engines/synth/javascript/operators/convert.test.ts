import { testOperator } from '../testing/table.ts';
import { convert } from './convert.ts';

testOperator(convert, [
  { before: 'x = f(a);\n', after: 'x = f(Number(a));\n' },
  { before: "x = line.split(',');\n", after: "x = line.split(',').map(Number);\n" },
  { before: 'const x = a / b;\n', after: 'const x = Math.floor(a / b);\n' },
  { before: 'x = list.map(parseInt);\n', after: 'x = list.map((part) => parseInt(part, 10));\n' },
  { before: 'x = String(a);\n', after: 'x = a;\n' },
]);
