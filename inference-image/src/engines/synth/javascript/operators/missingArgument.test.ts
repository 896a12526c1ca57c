import { testOperator } from '../testing/table.ts';
import { missingArgument } from './missingArgument.ts';

testOperator(missingArgument, [
  { before: 'x = list.reduce((a, b) => a + b);\n', after: 'x = list.reduce((a, b) => a + b, 0);\n' },
  { before: 'x = String(n).padStart(2);\n', after: "x = String(n).padStart(2, '0');\n" },
  {
    before: 'function walk(node, depth = 0) {\n  return walk(node.next);\n}\n',
    after: 'function walk(node, depth = 0) {\n  return walk(node.next, depth + 1);\n}\n',
  },
]);
