import { testOperator } from '../testing/table.ts';
import { integerOffset } from './integerOffset.ts';

testOperator(integerOffset, [
  { before: 'x = f(3);\n', after: 'x = f(4);\n', never: ['x = f + 1(3);\n'] },
  { before: 'for (let i = 0; i < list.length; i++) f(i);\n', after: 'for (let i = 0; i < list.length - 1; i++) f(i);\n' },
  { before: 'let n = 1;\nx = s.slice(0, n);\n', after: 'let n = 1;\nx = s.slice(0, n + 1);\n', never: ['x = s + 1.slice(0, n);\n'] },
  { before: 'let n = 0;\nx = s[n];\n', after: 'let n = 0;\nx = s[n - 1];\n' },
  { before: 'let page = 1;\nconst start = page * size;\n', after: 'let page = 1;\nconst start = (page - 1) * size;\n' },
]);
