import { testOperator } from '../testing/table.ts';
import { missingReturn } from './missingReturn.ts';

testOperator(missingReturn, [
  { before: 'x = list.map((item) => {\n  double(item);\n});\n', after: 'x = list.map((item) => {\n  return double(item);\n});\n' },
  {
    before: 'function f(list: string[]) {\n  const seen = [];\n  for (const x of list) seen.push(x);\n}\n',
    after: 'function f(list: string[]) {\n  const seen = [];\n  for (const x of list) seen.push(x);\n  return seen;\n}\n',
  },
]);
