import { testOperator } from '../testing/table.ts';
import { spread } from './spread.ts';

testOperator(spread, [
  { before: 'x = Math.max(list);\n', after: 'x = Math.max(...list);\n' },
  { before: 'x = { ...given, ...defaults };\n', after: 'x = { ...defaults, ...given };\n' },
  { before: 'x = [...a];\n', after: 'x = [a];\n' },
]);
