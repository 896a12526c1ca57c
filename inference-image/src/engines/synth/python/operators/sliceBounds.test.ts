import { testOperator } from '../testing/table.ts';
import { sliceBounds } from './sliceBounds.ts';

testOperator(sliceBounds, [
  { before: 'x = a[i:n]\n', after: 'x = a[i:i + n]\n' },
  { before: 'x = a[:3]\n', after: 'x = a[3:]\n' },
  { before: 'x = a[0]\n', after: 'x = a[-1]\n' },
  { before: 'x = a[2:]\n', after: 'x = a[-2:]\n' },
]);
