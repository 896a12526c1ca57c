import { testOperator } from '../testing/table.ts';
import { loopExit } from './loopExit.ts';

testOperator(loopExit, [
  { before: 'for (const x of list) {\n  if (x) break;\n}\n', after: 'for (const x of list) {\n  if (x) continue;\n}\n' },
  {
    before: 'function f(list) {\n  while (g()) {\n    return;\n  }\n}\n',
    after: 'function f(list) {\n  while (g()) {\n    continue;\n  }\n}\n',
  },
]);
