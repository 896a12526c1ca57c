import { testOperator } from '../testing/table.ts';
import { elseBranch } from './elseBranch.ts';

testOperator(elseBranch, [
  { before: 'if (a) f();\nif (b) g();\n', after: 'if (a) f(); else if (b) g();\n' },
  {
    before: 'function f(a) {\n  if (a) {\n    n += 1;\n  }\n  m = 0;\n}\n',
    after: 'function f(a) {\n  if (a) {\n    n += 1;\n  } else m = 0;\n  m = 0;\n}\n',
  },
  {
    before: 'switch (a) {\n  case 1:\n    f();\n  case 2:\n    g();\n}\n',
    after: 'switch (a) {\n  case 1:\n    f();\n    break;\n  case 2:\n    g();\n}\n',
  },
]);
