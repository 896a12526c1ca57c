import { testOperator } from '../testing/table.ts';
import { missingCopy } from './missingCopy.ts';

testOperator(missingCopy, [
  { before: 'def f(xs):\n    out.append(xs)\n', after: 'def f(xs):\n    out.append(xs.copy())\n' },
  { before: 'def f(xs):\n    for x in xs:\n        xs.remove(x)\n', after: 'def f(xs):\n    for x in list(xs):\n        xs.remove(x)\n' },
]);
