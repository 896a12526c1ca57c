import { testOperator } from '../testing/table.ts';
import { loopBounds } from './loopBounds.ts';

testOperator(loopBounds, [
  { before: 'for (const x in list) f(x);\n', after: 'for (const x of list) f(x);\n' },
  { before: 'for (let i = 0; i < n; i++) f(i);\n', after: 'for (let i = 1; i < n; i++) f(i);\n' },
  { before: 'for (let j = i; j < n; j++) f(j);\n', after: 'for (let j = i + 1; j < n; j++) f(j);\n' },
  { before: 'for (const x of list) f(x);\n', after: 'for (const x of list.slice(1)) f(x);\n' },
]);
