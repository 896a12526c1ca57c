import { testOperator } from '../testing/table.ts';
import { fileLiteral } from './fileLiteral.ts';

testOperator(fileLiteral, [
  { before: 'a = 60\nb = 3600\n', after: 'a = 60\nb = 60\n' },
  { before: "a = 'x'\nb = 'y'\n", after: "a = 'y'\nb = 'y'\n" },
]);
