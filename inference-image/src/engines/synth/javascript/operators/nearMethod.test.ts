import { testOperator } from '../testing/table.ts';
import { nearMethod } from './nearMethod.ts';

testOperator(nearMethod, [
  { before: 'x = list.some((item) => item.done);\n', after: 'x = list.every((item) => item.done);\n' },
  { before: 'x = Math.floor(a / b);\n', after: 'x = Math.ceil(a / b);\n' },
  { before: 'list.unshift(a);\n', after: 'list.push(a);\n' },
  { before: 'x = parseInt(a);\n', after: 'x = parseFloat(a);\n' },
]);
