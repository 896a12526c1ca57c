import { testOperator } from '../testing/table.ts';
import { statementMove } from './statementMove.ts';

testOperator(statementMove, [
  { before: 'a = 1\nf(a)\n', after: 'f(a)\na = 1\n' },
  {
    before: 'def f(xs):\n    for x in xs:\n        g(x)\n        return x\n',
    after: 'def f(xs):\n    for x in xs:\n        g(x)\n    return x\n',
  },
  { before: 'def f(xs):\n    for x in xs:\n        g(x)\n    h(x)\n', after: 'def f(xs):\n    for x in xs:\n        g(x)\n        h(x)\n' },
]);
