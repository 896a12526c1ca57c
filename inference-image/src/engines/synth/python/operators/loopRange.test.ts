import { testOperator } from '../testing/table.ts';
import { loopRange } from './loopRange.ts';

testOperator(loopRange, [
  { before: 'for i in range(n):\n    pass\n', after: 'for i in range(1, n + 1):\n    pass\n' },
  { before: 'for x in xs:\n    pass\n', after: 'for x in xs[1:]:\n    pass\n' },
  { before: 'for x in sorted(xs):\n    pass\n', after: 'for x in xs:\n    pass\n' },
]);
