import { testOperator } from '../testing/table.ts';
import { statementMove } from './statementMove.ts';

testOperator(statementMove, [
  { before: 'f();\ng();\n', after: 'g();\nf();\n' },
  {
    before: 'function f(list) {\n  for (const x of list) {\n    if (x) return true;\n    return false;\n  }\n}\n',
    after: 'function f(list) {\n  for (const x of list) {\n    if (x) return true;\n  }\n  return false;\n}\n',
  },
  { before: 'for (const x of list) {\n  let n = 0;\n  n += x;\n}\n', after: 'let n = 0;\nfor (const x of list) {\n  n += x;\n}\n' },
  { before: 'if (a) {\n  f();\n}\ng();\n', after: 'if (a) {\n  f();\n  g();\n}\n' },
]);
