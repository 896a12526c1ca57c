import { testOperator } from '../testing/table.ts';
import { baseCase } from './baseCase.ts';

testOperator(baseCase, [
  {
    before: 'def f(items):\n    """Doc."""\n    return max(items)\n',
    after: 'def f(items):\n    """Doc."""\n    if not items:\n        return 0\n    return max(items)\n',
  },
  {
    before: 'def f(n):\n    if n == 1:\n        return [n]\n    return f(n - 1)\n',
    after: 'def f(n):\n    if n <= 0:\n        return [n]\n    if n == 1:\n        return [n]\n    return f(n - 1)\n',
  },
]);
