import { testOperator } from '../testing/table.ts';
import { literalName } from './literalName.ts';

testOperator(literalName, [
  { before: 'def f(limit=5):\n    n = 0\n    n += 1\n', after: 'def f(limit=5):\n    n = 0\n    n += limit\n' },
  { before: 'on = False\nfor x in y:\n    on = True\n', after: 'on = False\nfor x in y:\n    on = not on\n' },
  { before: 'x = a + b\n', after: 'x = a + 1\n' },
]);
