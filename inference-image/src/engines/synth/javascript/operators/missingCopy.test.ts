import { testOperator } from '../testing/table.ts';
import { missingCopy } from './missingCopy.ts';

testOperator(missingCopy, [
  { before: 'x = list.sort();\n', after: 'x = [...list].sort();\n' },
  { before: 'history.push(board);\n', after: 'history.push([...board]);\n' },
  { before: 'const merged = defaults;\n', after: 'const merged = { ...defaults };\n' },
  // A method that every object inherits is none that changes its receiver.
  { before: 'history.push(board);\nboard.toString();\n', after: 'history.push([...board]);\nboard.toString();\n' },
]);
