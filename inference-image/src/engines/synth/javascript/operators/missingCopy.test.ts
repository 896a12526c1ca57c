import { testOperator } from '../testing/table.ts';
import { missingCopy } from './missingCopy.ts';

testOperator(missingCopy, [
  { before: 'x = list.sort();\n', after: 'x = [...list].sort();\n' },
  { before: 'history.push(board);\n', after: 'history.push([...board]);\n' },
  { before: 'const merged = defaults;\n', after: 'const merged = { ...defaults };\n' },
]);
