import { testOperator } from '../testing/table.ts';
import { convert } from './convert.ts';

testOperator(convert, [
  { before: 'def f(a):\n    return a\n', after: 'def f(a):\n    return int(a)\n' },
  { before: "x = a.split('.')\n", after: "x = [int(part) for part in a.split('.')]\n" },
  { before: 'x = str(a)\n', after: 'x = a\n' },
]);
