import { testOperator } from '../testing/table.ts';
import { replaceName } from './replaceName.ts';

testOperator(replaceName, [
  {
    before: 'function f(a, b) {\n  const c = a + 1;\n  return a;\n  const d = 2;\n}\n',
    after: 'function f(a, b) {\n  const c = a + 1;\n  return c;\n  const d = 2;\n}\n',
    never: ['function f(a, b) {\n  const c = a + 1;\n  return d;\n  const d = 2;\n}\n'],
  },
  {
    before: 'const f = (a: number, b: number) => {\n  if (a) {\n    let inner = 1;\n  }\n  return { a };\n};\n',
    after: 'const f = (a: number, b: number) => {\n  if (a) {\n    let inner = 1;\n  }\n  return { a: b };\n};\n',
    never: ['const f = (a: number, b: number) => {\n  if (a) {\n    let inner = 1;\n  }\n  return { a: inner };\n};\n'],
  },
  {
    before: "import { ROUND_DOWN, ROUND_UP } from './modes.js';\nexport const f = (a) => a.round(ROUND_DOWN);\n",
    after: "import { ROUND_DOWN, ROUND_UP } from './modes.js';\nexport const f = (a) => a.round(ROUND_UP);\n",
  },
  { before: 'for (const [key, value] of all) use(key);\n', after: 'for (const [key, value] of all) use(value);\n' },
]);
