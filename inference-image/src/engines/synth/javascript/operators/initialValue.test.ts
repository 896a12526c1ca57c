import { testOperator } from '../testing/table.ts';
import { initialValue } from './initialValue.ts';

testOperator(initialValue, [
  { before: 'let product = 0;\n', after: 'let product = 1;\n' },
  { before: 'x = list.reduce((a, b) => a * b, 0);\n', after: 'x = list.reduce((a, b) => a * b, 1);\n' },
  {
    before: 'function f(list) {\n  let best = 0;\n  for (const x of list) if (x > best) best = x;\n}\n',
    after: 'function f(list) {\n  let best = -Infinity;\n  for (const x of list) if (x > best) best = x;\n}\n',
  },
]);
