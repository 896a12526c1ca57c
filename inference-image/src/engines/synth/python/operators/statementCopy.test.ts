import { testOperator } from '../testing/table.ts';
import { statementCopy } from './statementCopy.ts';

testOperator(statementCopy, [
  {
    before: 'def f(xs):\n    out = []\n    for x in xs:\n        out.append(x)\n    return out\n',
    after: 'def f(xs):\n    out = []\n    for x in xs:\n        out.append(x)\n    out.append(x)\n    return out\n',
  },
  {
    before: "def f(t):\n    d = ''\n    for c in t:\n        if c:\n            d += c\n        else:\n            g(d)\n",
    after:
      "def f(t):\n    d = ''\n    for c in t:\n        if c:\n            d += c\n        else:\n            g(d)\n            d = ''\n",
  },
]);
