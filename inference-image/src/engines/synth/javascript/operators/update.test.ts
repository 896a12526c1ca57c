import { testOperator } from '../testing/table.ts';
import { update } from './update.ts';

testOperator(update, [
  { before: 'total = price;\n', after: 'total += price;\n' },
  { before: 'a.b -= c;\n', after: 'a.b += c;\n' },
  { before: 'x = i++;\n', after: 'x = ++i;\n' },
  { before: 'x.y = z;\n', after: 'x.y ??= z;\n' },
]);
