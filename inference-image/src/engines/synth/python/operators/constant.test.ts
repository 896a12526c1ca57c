import { testOperator } from '../testing/table.ts';
import { constant } from './constant.ts';

testOperator(constant, [
  { before: 'x = True\n', after: 'x = False\n' },
  { before: 'x = 5\n', after: 'x = 0\n' },
  { before: "x = 'a'\n", after: "x = ''\n" },
  { before: 'x = []\n', after: 'x = None\n' },
  { before: 'f(None)\n', after: 'f(False)\n' },
]);
