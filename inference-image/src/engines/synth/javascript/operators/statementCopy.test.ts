import { testOperator } from '../testing/table.ts';
import { statementCopy } from './statementCopy.ts';

testOperator(statementCopy, [
  {
    before: 'function f(list) {\n  let run = [];\n  for (const x of list) {\n    if (x) out.push(run);\n  }\n  return out;\n}\n',
    after:
      'function f(list) {\n  let run = [];\n  for (const x of list) {\n    if (x) out.push(run);\n  }\n  out.push(run);\n  return out;\n}\n',
  },
  {
    before: 'function f(x) {\n  let n = 0;\n  while (x) {\n    n += 1;\n    x = g();\n  }\n}\n',
    after: 'function f(x) {\n  let n = 0;\n  while (x) {\n    n += 1;\n    x = g();\n    n = 0;\n  }\n}\n',
  },
]);
