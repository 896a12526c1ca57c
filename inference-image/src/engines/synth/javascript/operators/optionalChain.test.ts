import { testOperator } from '../testing/table.ts';
import { optionalChain } from './optionalChain.ts';

testOperator(optionalChain, [
  { before: 'x = map.get(k).name;\n', after: 'x = map.get(k)?.name;\n' },
  { before: 'x = a.b[c];\n', after: 'x = a.b?.[c];\n' },
]);
