import { testOperator } from '../testing/table.ts';
import { elseBranch } from './elseBranch.ts';

testOperator(elseBranch, [
  {
    before: 'def f(a):\n    if a:\n        a = 1\n    if a > 2:\n        a = 3\n',
    after: 'def f(a):\n    if a:\n        a = 1\n    elif a > 2:\n        a = 3\n',
  },
  {
    before: 'def f(a):\n    if a:\n        g(a)\n    return a\n',
    after: 'def f(a):\n    if a:\n        g(a)\n    else:\n        g(a)\n    return a\n',
  },
  { before: 'if a:\n    b()\nelif c:\n    d()\n', after: 'if a:\n    b()\nif c:\n    d()\n' },
]);
