import { testOperator } from '../testing/table.ts';
import { loopExit } from './loopExit.ts';

testOperator(loopExit, [
  { before: 'for x in y:\n    break\n', after: 'for x in y:\n    continue\n' },
  {
    before: 'def f(y):\n    n = 0\n    for x in y:\n        continue\n',
    after: 'def f(y):\n    n = 0\n    for x in y:\n        return n\n',
  },
]);
