import { testOperator } from '../testing/table.ts';
import { nearMethod } from './nearMethod.ts';

testOperator(nearMethod, [
  { before: 'x = a.lstrip()\n', after: 'x = a.strip()\n' },
  { before: 'x = min(a)\n', after: 'x = max(a)\n' },
  { before: 'x = p.left + p.right\n', after: 'x = p.right + p.right\n' },
  { before: 'x = decimal.ROUND_DOWN\n', after: 'x = decimal.ROUND_HALF_UP\n' },
  { before: 'x = Mode.KEEP_OLD\ny = Mode.KEEP_NEW\n', after: 'x = Mode.KEEP_NEW\ny = Mode.KEEP_NEW\n' },
  { before: 'x = any(a)\n', after: 'x = all(a)\n' },
  { before: 'g.get(k, [])\n', after: 'g.setdefault(k, [])\n' },
]);
