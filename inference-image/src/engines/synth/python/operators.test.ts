import { testOperators, type Row } from '../testing/table.ts';
import { PythonFile, rules } from './file.ts';
import { operators } from './index.ts';

const rows: Readonly<Record<string, readonly Row[]>> = {
  'add-condition': [
    { before: 'def f(a, b):\n    if b > 1:\n        return a\n', after: 'def f(a, b):\n    if a and b > 1:\n        return a\n' },
    { before: 'def f(a, b):\n    while a or b:\n        b = a\n', after: 'def f(a, b):\n    while (a or b) and not a:\n        b = a\n' },
  ],
  arithmetic: [
    { before: 'x = a + b\n', after: 'x = a - b\n' },
    { before: 'x = a // b\n', after: 'x = a / b\n' },
    { before: 'x = a & b\n', after: 'x = a | b\n' },
    { before: 'x = -a\n', after: 'x = a\n' },
    { before: 'x = a << 2\n', after: 'x = a >> 2\n' },
  ],
  'base-case': [
    {
      before: 'def f(items):\n    """Doc."""\n    return max(items)\n',
      after: 'def f(items):\n    """Doc."""\n    if not items:\n        return 0\n    return max(items)\n',
    },
    {
      before: 'def f(n):\n    if n == 1:\n        return [n]\n    return f(n - 1)\n',
      after: 'def f(n):\n    if n <= 0:\n        return [n]\n    if n == 1:\n        return [n]\n    return f(n - 1)\n',
    },
  ],
  'boolean-operator': [
    { before: 'x = a and b\n', after: 'x = a or b\n' },
    { before: 'x = a or b and c\n', after: 'x = a or b or c\n' },
  ],
  comparison: [
    { before: 'x = a < b\n', after: 'x = a <= b\n' },
    { before: 'x = a not in b\n', after: 'x = a in b\n' },
    { before: 'x = a is b\n', after: 'x = a is not b\n' },
    { before: 'x = a < b < c\n', after: 'x = a < b <= c\n' },
    { before: 'x = a == b\n', after: 'x = a != b\n' },
  ],
  constant: [
    { before: 'x = True\n', after: 'x = False\n' },
    { before: 'x = 5\n', after: 'x = 0\n' },
    { before: "x = 'a'\n", after: "x = ''\n" },
    { before: 'x = []\n', after: 'x = None\n' },
    { before: 'f(None)\n', after: 'f(False)\n' },
  ],
  convert: [
    { before: 'def f(a):\n    return a\n', after: 'def f(a):\n    return int(a)\n' },
    { before: "x = a.split('.')\n", after: "x = [int(part) for part in a.split('.')]\n" },
    { before: 'x = str(a)\n', after: 'x = a\n' },
  ],
  'drop-term': [
    { before: 'x = a + 1\n', after: 'x = a\n' },
    { before: 'x = a and b\n', after: 'x = b\n' },
    { before: 'x = a if c else b\n', after: 'x = b\n' },
  ],
  'else-branch': [
    {
      before: 'def f(a):\n    if a:\n        a = 1\n    if a > 2:\n        a = 3\n',
      after: 'def f(a):\n    if a:\n        a = 1\n    elif a > 2:\n        a = 3\n',
    },
    {
      before: 'def f(a):\n    if a:\n        g(a)\n    return a\n',
      after: 'def f(a):\n    if a:\n        g(a)\n    else:\n        g(a)\n    return a\n',
    },
    { before: 'if a:\n    b()\nelif c:\n    d()\n', after: 'if a:\n    b()\nif c:\n    d()\n' },
  ],
  'exception-type': [
    { before: 'try:\n    f()\nexcept KeyError:\n    pass\n', after: 'try:\n    f()\nexcept ValueError:\n    pass\n' },
    {
      before: 'try:\n    f()\nexcept (KeyError, OSError) as e:\n    pass\n',
      after: 'try:\n    f()\nexcept (KeyError, OSError, ValueError) as e:\n    pass\n',
    },
    { before: "raise KeyError('x')\n", after: "raise ValueError('x')\n" },
    { before: 'try:\n    f()\nexcept KeyError as e:\n    pass\n', after: 'try:\n    f()\nexcept (KeyError, IndexError) as e:\n    pass\n' },
  ],
  'file-literal': [
    { before: 'a = 60\nb = 3600\n', after: 'a = 60\nb = 60\n' },
    { before: "a = 'x'\nb = 'y'\n", after: "a = 'y'\nb = 'y'\n" },
  ],
  'guard-statement': [
    { before: 'def f(a):\n    a.pop()\n', after: 'def f(a):\n    if a:\n        a.pop()\n' },
    { before: 'def f(a, k):\n    del a[k]\n', after: 'def f(a, k):\n    if k in a:\n        del a[k]\n' },
  ],
  increment: [
    {
      before: 'def f(n):\n    i = 0\n    while i < n:\n        g(i)\n',
      after: 'def f(n):\n    i = 0\n    while i < n:\n        g(i)\n        i += 1\n',
    },
    {
      before: 'def f(xs):\n    n = 0\n    for x in xs:\n        if x:\n            g(x)\n        else:\n            h(x)\n    return n\n',
      after:
        'def f(xs):\n    n = 0\n    for x in xs:\n        if x:\n            g(x)\n        else:\n            h(x)\n            n += 1\n    return n\n',
    },
  ],
  'initial-value': [
    {
      before: 'def f(xs):\n    best = 0\n    for x in xs:\n        best = max(best, x)\n',
      after: "def f(xs):\n    best = float('-inf')\n    for x in xs:\n        best = max(best, x)\n",
    },
    { before: 'x = 0\n', after: 'x = 1\n' },
    { before: 'x = None\n', after: 'x = []\n' },
  ],
  'integer-offset': [
    { before: 'for i in range(n):\n    pass\n', after: 'for i in range(n + 1):\n    pass\n' },
    { before: 'x = a[b:c]\n', after: 'x = a[b:c - 1]\n' },
    { before: 'x = a[len(a)]\n', after: 'x = a[len(a) - 1]\n' },
    { before: 'x = f(3)\n', after: 'x = f(4)\n' },
  ],
  'literal-name': [
    { before: 'def f(limit=5):\n    n = 0\n    n += 1\n', after: 'def f(limit=5):\n    n = 0\n    n += limit\n' },
    { before: 'on = False\nfor x in y:\n    on = True\n', after: 'on = False\nfor x in y:\n    on = not on\n' },
    { before: 'x = a + b\n', after: 'x = a + 1\n' },
  ],
  'loop-exit': [
    { before: 'for x in y:\n    break\n', after: 'for x in y:\n    continue\n' },
    {
      before: 'def f(y):\n    n = 0\n    for x in y:\n        continue\n',
      after: 'def f(y):\n    n = 0\n    for x in y:\n        return n\n',
    },
  ],
  'loop-range': [
    { before: 'for i in range(n):\n    pass\n', after: 'for i in range(1, n + 1):\n    pass\n' },
    { before: 'for x in xs:\n    pass\n', after: 'for x in xs[1:]:\n    pass\n' },
    { before: 'for x in sorted(xs):\n    pass\n', after: 'for x in xs:\n    pass\n' },
  ],
  'missing-argument': [
    // Names that every object has are ordinary names in Python.
    { before: 'x = a.constructor(b, c) + toString(d)\n', after: 'x = a.constructor(b) + toString(d)\n' },
    { before: "a, b = x.split('=')\n", after: "a, b = x.split('=', 1)\n" },
    { before: 'x = max(v for v in xs)\n', after: 'x = max((v for v in xs), default=0)\n' },
    { before: 'def walk(node, depth=0):\n    walk(node.next)\n', after: 'def walk(node, depth=0):\n    walk(node.next, depth + 1)\n' },
    { before: 'x = f(a, b)\n', after: 'x = f(a)\n' },
  ],
  'missing-copy': [
    { before: 'def f(xs):\n    out.append(xs)\n', after: 'def f(xs):\n    out.append(xs.copy())\n' },
    { before: 'def f(xs):\n    for x in xs:\n        xs.remove(x)\n', after: 'def f(xs):\n    for x in list(xs):\n        xs.remove(x)\n' },
  ],
  'missing-return': [
    { before: 'def f(a):\n    g(a)\n', after: 'def f(a):\n    return g(a)\n' },
    { before: 'def f(a):\n    b = a + 1\n', after: 'def f(a):\n    b = a + 1\n    return b\n' },
  ],
  'mutable-default': [
    {
      before: 'def f(a, b=[]):\n    """Doc."""\n    b.append(a)\n',
      after: 'def f(a, b=None):\n    """Doc."""\n    if b is None:\n        b = []\n    b.append(a)\n',
    },
    { before: 'def f(b=dict()):\n\treturn b\n', after: 'def f(b=None):\n\tif b is None:\n\t\tb = dict()\n\treturn b\n' },
  ],
  'near-method': [
    { before: 'x = a.lstrip()\n', after: 'x = a.strip()\n' },
    { before: 'x = min(a)\n', after: 'x = max(a)\n' },
    { before: 'x = p.left + p.right\n', after: 'x = p.right + p.right\n' },
    { before: 'x = decimal.ROUND_DOWN\n', after: 'x = decimal.ROUND_HALF_UP\n' },
    { before: 'x = Mode.KEEP_OLD\ny = Mode.KEEP_NEW\n', after: 'x = Mode.KEEP_NEW\ny = Mode.KEEP_NEW\n' },
    { before: 'x = any(a)\n', after: 'x = all(a)\n' },
    { before: 'g.get(k, [])\n', after: 'g.setdefault(k, [])\n' },
  ],
  negation: [
    { before: 'if a:\n    pass\n', after: 'if not a:\n    pass\n' },
    { before: 'x = not a\n', after: 'x = a\n' },
    { before: 'while a < b:\n    pass\n', after: 'while not (a < b):\n    pass\n' },
  ],
  'replace-name': [
    { before: 'def f(a, b):\n    return a\n', after: 'def f(a, b):\n    return b\n' },
    { before: 'def f(a):\n    b = a.strip()\n    return a\n', after: 'def f(a):\n    b = a.strip()\n    return b\n' },
    {
      before: 'from decimal import ROUND_DOWN, ROUND_HALF_UP\n\ndef f(a):\n    return a.quantize(1, ROUND_DOWN)\n',
      after: 'from decimal import ROUND_DOWN, ROUND_HALF_UP\n\ndef f(a):\n    return a.quantize(1, ROUND_HALF_UP)\n',
    },
    {
      before: 'def g(a):\n    return a\n\ndef h(a):\n    return a\n\nx = g(1)\n',
      after: 'def g(a):\n    return a\n\ndef h(a):\n    return a\n\nx = h(1)\n',
    },
  ],
  'return-value': [
    { before: 'def f(a):\n    b = a\n    return a + 1\n', after: 'def f(a):\n    b = a\n    return b\n' },
    { before: 'def f():\n    return True\n', after: 'def f():\n    return False\n' },
    { before: 'def f(a):\n    return\n', after: 'def f(a):\n    return a\n' },
  ],
  'reuse-expression': [
    {
      before: 'def f(xs):\n    best = 0\n    for x in xs:\n        best = max(best, x)\n    return best\n',
      after: 'def f(xs):\n    best = 0\n    for x in xs:\n        best = max(best, x)\n    return max(best, x)\n',
    },
  ],
  'slice-bounds': [
    { before: 'x = a[i:n]\n', after: 'x = a[i:i + n]\n' },
    { before: 'x = a[:3]\n', after: 'x = a[3:]\n' },
    { before: 'x = a[0]\n', after: 'x = a[-1]\n' },
    { before: 'x = a[2:]\n', after: 'x = a[-2:]\n' },
  ],
  'statement-copy': [
    {
      before: 'def f(xs):\n    out = []\n    for x in xs:\n        out.append(x)\n    return out\n',
      after: 'def f(xs):\n    out = []\n    for x in xs:\n        out.append(x)\n    out.append(x)\n    return out\n',
    },
    {
      before: "def f(t):\n    d = ''\n    for c in t:\n        if c:\n            d += c\n        else:\n            g(d)\n",
      after:
        "def f(t):\n    d = ''\n    for c in t:\n        if c:\n            d += c\n        else:\n            g(d)\n            d = ''\n",
    },
  ],
  'statement-delete': [
    { before: 'a = 1\nf(a)\ng(a)\n', after: 'a = 1\ng(a)\n' },
    { before: 'if a:\n    f(a)\n', after: 'if a:\n    pass\n' },
  ],
  'statement-move': [
    { before: 'a = 1\nf(a)\n', after: 'f(a)\na = 1\n' },
    {
      before: 'def f(xs):\n    for x in xs:\n        g(x)\n        return x\n',
      after: 'def f(xs):\n    for x in xs:\n        g(x)\n    return x\n',
    },
    {
      before: 'def f(xs):\n    for x in xs:\n        g(x)\n    h(x)\n',
      after: 'def f(xs):\n    for x in xs:\n        g(x)\n        h(x)\n',
    },
  ],
  'swap-arguments': [
    { before: 'f(a, b)\n', after: 'f(b, a)\n' },
    { before: 'x = a - b\n', after: 'x = b - a\n' },
    { before: 'x = g[i][j]\n', after: 'x = g[j][i]\n' },
    { before: 'x = a if c else b\n', after: 'x = b if c else a\n' },
  ],
  update: [
    {
      before: 'def f(n):\n    t = 0\n    t = n\n',
      after: 'def f(n):\n    t = 0\n    t += n\n',
      never: ['def f(n):\n    t += 0\n    t = n\n'],
    },
    { before: 'a[i] =- 1\n', after: 'a[i] -= 1\n' },
    { before: 'a += 1\n', after: 'a -= 1\n' },
    { before: 'a += 1\n', after: 'a = 1\n' },
  ],
};

testOperators({ grammar: 'python', rules, open: (source, root) => new PythonFile(source, root) }, operators, rows);
