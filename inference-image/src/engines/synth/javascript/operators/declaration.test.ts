import { testOperator } from '../testing/table.ts';
import { declaration } from './declaration.ts';

testOperator(declaration, [
  { before: 'var x = 1;\n', after: 'let x = 1;\n' },
  {
    before: 'function f(a) {\n  let best = 0;\n  if (a) {\n    const best = a;\n  }\n  return best;\n}\n',
    after: 'function f(a) {\n  let best = 0;\n  if (a) {\n    best = a;\n  }\n  return best;\n}\n',
  },
]);
