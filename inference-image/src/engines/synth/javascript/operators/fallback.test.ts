import { testOperator } from '../testing/table.ts';
import { fallback } from './fallback.ts';

testOperator(fallback, [
  { before: 'map.set(k, map.get(k) + 1);\n', after: 'map.set(k, (map.get(k) ?? 0) + 1);\n' },
  { before: 'const x = o[k];\n', after: 'const x = o[k] ?? [];\n', never: ['const x = o ?? 0[k];\n'] },
]);
