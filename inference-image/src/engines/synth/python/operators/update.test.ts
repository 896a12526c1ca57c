import { testOperator } from '../testing/table.ts';
import { update } from './update.ts';

testOperator(update, [
  {
    before: 'def f(n):\n    t = 0\n    t = n\n',
    after: 'def f(n):\n    t = 0\n    t += n\n',
    never: ['def f(n):\n    t += 0\n    t = n\n'],
  },
  { before: 'a[i] =- 1\n', after: 'a[i] -= 1\n' },
  { before: 'a += 1\n', after: 'a -= 1\n' },
  { before: 'a += 1\n', after: 'a = 1\n' },
]);
