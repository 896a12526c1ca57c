import { testOperator } from '../testing/table.ts';
import { truthiness } from './truthiness.ts';

testOperator(truthiness, [
  { before: 'if (limit) f();\n', after: 'if (limit !== undefined) f();\n' },
  { before: 'if (!found.get(a)) f();\n', after: 'if (found.get(a) === undefined) f();\n' },
  { before: 'const list = [];\nif (list) f();\n', after: 'const list = [];\nif (list.length > 0) f();\n' },
]);
