import { testOperator } from '../testing/table.ts';
import { replaceName } from './replaceName.ts';

testOperator(replaceName, [
  { before: 'def f(a, b):\n    return a\n', after: 'def f(a, b):\n    return b\n' },
  { before: 'def f(a):\n    b = a.strip()\n    return a\n', after: 'def f(a):\n    b = a.strip()\n    return b\n' },
  {
    before: 'from decimal import ROUND_DOWN, ROUND_HALF_UP\n\ndef f(a):\n    return a.quantize(1, ROUND_DOWN)\n',
    after: 'from decimal import ROUND_DOWN, ROUND_HALF_UP\n\ndef f(a):\n    return a.quantize(1, ROUND_HALF_UP)\n',
  },
  {
    before: 'def g(a):\n    return a\n\ndef h(a):\n    return a\n\nx = g(1)\n',
    after: 'def g(a):\n    return a\n\ndef h(a):\n    return a\n\nx = h(1)\n',
  },
]);
