import { testOperator } from '../testing/table.ts';
import { increment } from './increment.ts';

testOperator(increment, [
  {
    before: 'def f(n):\n    i = 0\n    while i < n:\n        g(i)\n',
    after: 'def f(n):\n    i = 0\n    while i < n:\n        g(i)\n        i += 1\n',
  },
  {
    before: 'def f(xs):\n    n = 0\n    for x in xs:\n        if x:\n            g(x)\n        else:\n            h(x)\n    return n\n',
    after:
      'def f(xs):\n    n = 0\n    for x in xs:\n        if x:\n            g(x)\n        else:\n            h(x)\n            n += 1\n    return n\n',
  },
]);
