import { testOperator } from '../testing/table.ts';
import { mutableDefault } from './mutableDefault.ts';

testOperator(mutableDefault, [
  {
    before: 'def f(a, b=[]):\n    """Doc."""\n    b.append(a)\n',
    after: 'def f(a, b=None):\n    """Doc."""\n    if b is None:\n        b = []\n    b.append(a)\n',
  },
  { before: 'def f(b=dict()):\n\treturn b\n', after: 'def f(b=None):\n\tif b is None:\n\t\tb = dict()\n\treturn b\n' },
]);
