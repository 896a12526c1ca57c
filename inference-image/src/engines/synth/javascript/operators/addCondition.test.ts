import { testOperator } from '../testing/table.ts';
import { addCondition } from './addCondition.ts';

testOperator(addCondition, [
  { before: 'function f(a, b) {\n  if (b > 1) return a;\n}\n', after: 'function f(a, b) {\n  if (a && b > 1) return a;\n}\n' },
  {
    before: 'function f(list: string[], n) {\n  while (n || g()) n = h();\n}\n',
    after: 'function f(list: string[], n) {\n  while (list.length > 0 && (n || g())) n = h();\n}\n',
  },
]);
