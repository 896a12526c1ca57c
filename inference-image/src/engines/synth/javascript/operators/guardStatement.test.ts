import { testOperator } from '../testing/table.ts';
import { guardStatement } from './guardStatement.ts';

testOperator(guardStatement, [
  { before: 'const s = [];\ns.pop();\n', after: 'const s = [];\nif (s.length > 0) s.pop();\n' },
  { before: 'const m = new Map();\nm.set(k, v);\n', after: 'const m = new Map();\nif (!m.has(k)) m.set(k, v);\n' },
  { before: 'function f(part, all) {\n  all.push(part);\n}\n', after: 'function f(part, all) {\n  if (part) all.push(part);\n}\n' },
]);
