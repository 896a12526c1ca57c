import { testOperators, type Row } from '../testing/table.ts';
import { ScriptFile } from './file.ts';
import { rules } from './operator.ts';
import { operators } from './index.ts';

const rows: Readonly<Record<string, readonly Row[]>> = {
  'add-condition': [
    { before: 'function f(a, b) {\n  if (b > 1) return a;\n}\n', after: 'function f(a, b) {\n  if (a && b > 1) return a;\n}\n' },
    {
      before: 'function f(list: string[], n) {\n  while (n || g()) n = h();\n}\n',
      after: 'function f(list: string[], n) {\n  while (list.length > 0 && (n || g())) n = h();\n}\n',
    },
  ],
  arithmetic: [
    { before: 'x = a + b;\n', after: 'x = a - b;\n', never: ['x = a < b;\n'] },
    { before: 'x = -a;\n', after: 'x = a;\n' },
    { before: 'x = (i - 1) % n;\n', after: 'x = ((i - 1) + n) % n;\n' },
  ],
  'base-case': [
    {
      before: 'function mean(values: number[]): number {\n  return sum(values) / values.length;\n}\n',
      after: 'function mean(values: number[]): number {\n  if (values.length === 0) return 0;\n  return sum(values) / values.length;\n}\n',
    },
    { before: 'const f = (a) => {\n  return a.b;\n};\n', after: 'const f = (a) => {\n  if (!a) return null;\n  return a.b;\n};\n' },
  ],
  'boolean-operator': [
    { before: 'x = a && b;\n', after: 'x = a || b;\n' },
    { before: 'x = a || 3;\n', after: 'x = a ?? 3;\n' },
  ],
  comparison: [
    { before: 'x = a < b;\n', after: 'x = a <= b;\n', never: ['x = a + b;\n'] },
    { before: 'x = a == b;\n', after: 'x = a === b;\n' },
    { before: 'x = a !== b;\n', after: 'x = a === b;\n' },
    { before: 'x = a in b;\n', after: 'x = Object.hasOwn(b, a);\n' },
  ],
  constant: [
    { before: 'x = true;\n', after: 'x = false;\n' },
    { before: 'x = f(3);\n', after: 'x = f(1);\n' },
    { before: "x = '';\n", after: "x = ' ';\n" },
    { before: 'return_ = undefined;\n', after: 'return_ = null;\n' },
  ],
  convert: [
    { before: 'x = f(a);\n', after: 'x = f(Number(a));\n' },
    { before: "x = line.split(',');\n", after: "x = line.split(',').map(Number);\n" },
    { before: 'const x = a / b;\n', after: 'const x = Math.floor(a / b);\n' },
    { before: 'x = list.map(parseInt);\n', after: 'x = list.map((part) => parseInt(part, 10));\n' },
    { before: 'x = String(a);\n', after: 'x = a;\n' },
  ],
  declaration: [
    { before: 'var x = 1;\n', after: 'let x = 1;\n' },
    {
      before: 'function f(a) {\n  let best = 0;\n  if (a) {\n    const best = a;\n  }\n  return best;\n}\n',
      after: 'function f(a) {\n  let best = 0;\n  if (a) {\n    best = a;\n  }\n  return best;\n}\n',
    },
  ],
  'default-parameter': [
    { before: 'function f(n: number, all: string[]) {}\n', after: 'function f(n: number, all: string[] = []) {}\n' },
    { before: 'const f = ({ a, b }) => a;\n', after: 'const f = ({ a, b = 0 }) => a;\n' },
    { before: 'const f = ({ a, b }) => a;\n', after: 'const f = ({ a, b } = {}) => a;\n' },
  ],
  'drop-term': [
    { before: 'x = n - 1;\n', after: 'x = n;\n' },
    { before: 'x = a && b;\n', after: 'x = b;\n' },
    { before: 'x = a ? b : c;\n', after: 'x = c;\n' },
  ],
  'else-branch': [
    { before: 'if (a) f();\nif (b) g();\n', after: 'if (a) f(); else if (b) g();\n' },
    {
      before: 'function f(a) {\n  if (a) {\n    n += 1;\n  }\n  m = 0;\n}\n',
      after: 'function f(a) {\n  if (a) {\n    n += 1;\n  } else m = 0;\n  m = 0;\n}\n',
    },
    {
      before: 'switch (a) {\n  case 1:\n    f();\n  case 2:\n    g();\n}\n',
      after: 'switch (a) {\n  case 1:\n    f();\n    break;\n  case 2:\n    g();\n}\n',
    },
  ],
  fallback: [
    { before: 'map.set(k, map.get(k) + 1);\n', after: 'map.set(k, (map.get(k) ?? 0) + 1);\n' },
    { before: 'const x = o[k];\n', after: 'const x = o[k] ?? [];\n', never: ['const x = o ?? 0[k];\n'] },
  ],
  'file-literal': [{ before: 'x = 60;\ny = 24;\n', after: 'x = 24;\ny = 24;\n' }],
  'guard-statement': [
    { before: 'const s = [];\ns.pop();\n', after: 'const s = [];\nif (s.length > 0) s.pop();\n' },
    { before: 'const m = new Map();\nm.set(k, v);\n', after: 'const m = new Map();\nif (!m.has(k)) m.set(k, v);\n' },
    { before: 'function f(part, all) {\n  all.push(part);\n}\n', after: 'function f(part, all) {\n  if (part) all.push(part);\n}\n' },
  ],
  increment: [
    {
      before: 'function f(list) {\n  let i = 0;\n  while (i < list.length) {\n    use(list[i]);\n  }\n}\n',
      after: 'function f(list) {\n  let i = 0;\n  while (i < list.length) {\n    use(list[i]);\n    i += 1;\n  }\n}\n',
    },
  ],
  'initial-value': [
    { before: 'let product = 0;\n', after: 'let product = 1;\n' },
    { before: 'x = list.reduce((a, b) => a * b, 0);\n', after: 'x = list.reduce((a, b) => a * b, 1);\n' },
    {
      before: 'function f(list) {\n  let best = 0;\n  for (const x of list) if (x > best) best = x;\n}\n',
      after: 'function f(list) {\n  let best = -Infinity;\n  for (const x of list) if (x > best) best = x;\n}\n',
    },
  ],
  'integer-offset': [
    { before: 'x = f(3);\n', after: 'x = f(4);\n', never: ['x = f + 1(3);\n'] },
    { before: 'for (let i = 0; i < list.length; i++) f(i);\n', after: 'for (let i = 0; i < list.length - 1; i++) f(i);\n' },
    { before: 'let n = 1;\nx = s.slice(0, n);\n', after: 'let n = 1;\nx = s.slice(0, n + 1);\n', never: ['x = s + 1.slice(0, n);\n'] },
    { before: 'let n = 0;\nx = s[n];\n', after: 'let n = 0;\nx = s[n - 1];\n' },
    { before: 'let page = 1;\nconst start = page * size;\n', after: 'let page = 1;\nconst start = (page - 1) * size;\n' },
  ],
  'literal-name': [
    { before: 'function f(size: number) {\n  at += 10;\n}\n', after: 'function f(size: number) {\n  at += size;\n}\n' },
    { before: 'this.open = true;\n', after: 'this.open = !this.open;\n' },
  ],
  'loop-bounds': [
    { before: 'for (const x in list) f(x);\n', after: 'for (const x of list) f(x);\n' },
    { before: 'for (let i = 0; i < n; i++) f(i);\n', after: 'for (let i = 1; i < n; i++) f(i);\n' },
    { before: 'for (let j = i; j < n; j++) f(j);\n', after: 'for (let j = i + 1; j < n; j++) f(j);\n' },
    { before: 'for (const x of list) f(x);\n', after: 'for (const x of list.slice(1)) f(x);\n' },
  ],
  'loop-exit': [
    { before: 'for (const x of list) {\n  if (x) break;\n}\n', after: 'for (const x of list) {\n  if (x) continue;\n}\n' },
    {
      before: 'function f(list) {\n  while (g()) {\n    return;\n  }\n}\n',
      after: 'function f(list) {\n  while (g()) {\n    continue;\n  }\n}\n',
    },
  ],
  'missing-argument': [
    { before: 'x = list.reduce((a, b) => a + b);\n', after: 'x = list.reduce((a, b) => a + b, 0);\n' },
    { before: 'x = String(n).padStart(2);\n', after: "x = String(n).padStart(2, '0');\n" },
    {
      before: 'function walk(node, depth = 0) {\n  return walk(node.next);\n}\n',
      after: 'function walk(node, depth = 0) {\n  return walk(node.next, depth + 1);\n}\n',
    },
  ],
  'missing-await': [
    {
      before: 'async function f(load) {\n  const x = load();\n  return x;\n}\n',
      after: 'async function f(load) {\n  const x = await load();\n  return x;\n}\n',
    },
    {
      before: 'async function f(list) {\n  return await list.map(g);\n}\n',
      after: 'async function f(list) {\n  return await Promise.all(list.map(g));\n}\n',
    },
    {
      before: 'async function f(load) {\n  return load().name;\n}\n',
      after: 'async function f(load) {\n  return (await load()).name;\n}\n',
    },
  ],
  'missing-copy': [
    { before: 'x = list.sort();\n', after: 'x = [...list].sort();\n' },
    { before: 'history.push(board);\n', after: 'history.push([...board]);\n' },
    { before: 'const merged = defaults;\n', after: 'const merged = { ...defaults };\n' },
    // A method that every object inherits is none that changes its receiver.
    { before: 'history.push(board);\nboard.toString();\n', after: 'history.push([...board]);\nboard.toString();\n' },
  ],
  'missing-return': [
    { before: 'x = list.map((item) => {\n  double(item);\n});\n', after: 'x = list.map((item) => {\n  return double(item);\n});\n' },
    {
      before: 'function f(list: string[]) {\n  const seen = [];\n  for (const x of list) seen.push(x);\n}\n',
      after: 'function f(list: string[]) {\n  const seen = [];\n  for (const x of list) seen.push(x);\n  return seen;\n}\n',
    },
  ],
  'missing-throw': [
    { before: "function f() {\n  return new Error('x');\n}\n", after: "function f() {\n  throw new Error('x');\n}\n" },
    { before: "function f() {\n  throw new Error('x');\n}\n", after: 'function f() {\n  return null;\n}\n' },
  ],
  'near-method': [
    { before: 'x = list.some((item) => item.done);\n', after: 'x = list.every((item) => item.done);\n' },
    { before: 'x = Math.floor(a / b);\n', after: 'x = Math.ceil(a / b);\n' },
    { before: 'list.unshift(a);\n', after: 'list.push(a);\n' },
    { before: 'x = parseInt(a);\n', after: 'x = parseFloat(a);\n' },
  ],
  negation: [
    { before: 'if (a) f();\n', after: 'if (!a) f();\n' },
    { before: 'if (!(a && b)) f();\n', after: 'if (a && b) f();\n' },
    { before: 'x = list.filter((item) => item.done);\n', after: 'x = list.filter((item) => !item.done);\n' },
    { before: 'x = a && has(b);\n', after: 'x = a && !has(b);\n' },
  ],
  'optional-chain': [
    { before: 'x = map.get(k).name;\n', after: 'x = map.get(k)?.name;\n' },
    { before: 'x = a.b[c];\n', after: 'x = a.b?.[c];\n' },
  ],
  pattern: [
    { before: "x = s.replace(/ /, '-');\n", after: "x = s.replace(/ /g, '-');\n" },
    { before: 'x = /\\d/.test(s);\n', after: 'x = /^\\d$/.test(s);\n' },
    { before: 'x = /\\d/.exec(s);\n', after: 'x = /\\d+/.exec(s);\n' },
    { before: 'x = /a.b/;\n', after: 'x = /a\\.b/;\n' },
  ],
  precedence: [
    { before: 'x = a * b + c;\n', after: 'x = a * (b + c);\n' },
    { before: 'x = a ?? 0 + b;\n', after: 'x = (a ?? 0) + b;\n' },
    { before: 'x = !a in b;\n', after: 'x = !(a in b);\n' },
  ],
  property: [
    { before: 'x = set.length;\n', after: 'x = set.size;\n' },
    { before: 'x = item.price;\ny = item.count;\n', after: 'x = item.count;\ny = item.count;\n' },
  ],
  'replace-name': [
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
  ],
  'return-value': [
    { before: 'function f(a) {\n  const b = a + 1;\n  return a + 2;\n}\n', after: 'function f(a) {\n  const b = a + 1;\n  return b;\n}\n' },
    { before: 'function f(a) {\n  return true;\n}\n', after: 'function f(a) {\n  return false;\n}\n' },
  ],
  'reuse-expression': [
    {
      before: 'function f(key) {\n  const name = key.trim();\n  map.set(key, name);\n}\n',
      after: 'function f(key) {\n  const name = key.trim();\n  map.set(key.trim(), name);\n}\n',
    },
  ],
  'slice-bounds': [
    { before: 'x = list.slice(i, size);\n', after: 'x = list.slice(i, i + size);\n' },
    { before: 'x = list.slice(n);\n', after: 'x = list.slice(0, n);\n' },
    { before: 'x = list[list.length];\n', after: 'x = list[list.length - 1];\n' },
    { before: 'list.splice(i);\n', after: 'list.splice(i, 1);\n' },
    { before: 'x = list[-1];\n', after: 'x = list.at(-1);\n' },
  ],
  'sort-comparator': [
    { before: 'list.sort();\n', after: 'list.sort((a, b) => a - b);\n' },
    { before: 'list.sort((x, y) => x.age - y.age);\n', after: 'list.sort((x, y) => y.age - x.age);\n' },
    { before: 'list.sort((x, y) => x > y);\n', after: 'list.sort((x, y) => x - y);\n' },
  ],
  spread: [
    { before: 'x = Math.max(list);\n', after: 'x = Math.max(...list);\n' },
    { before: 'x = { ...given, ...defaults };\n', after: 'x = { ...defaults, ...given };\n' },
    { before: 'x = [...a];\n', after: 'x = [a];\n' },
  ],
  'statement-copy': [
    {
      before: 'function f(list) {\n  let run = [];\n  for (const x of list) {\n    if (x) out.push(run);\n  }\n  return out;\n}\n',
      after:
        'function f(list) {\n  let run = [];\n  for (const x of list) {\n    if (x) out.push(run);\n  }\n  out.push(run);\n  return out;\n}\n',
    },
    {
      before: 'function f(x) {\n  let n = 0;\n  while (x) {\n    n += 1;\n    x = g();\n  }\n}\n',
      after: 'function f(x) {\n  let n = 0;\n  while (x) {\n    n += 1;\n    x = g();\n    n = 0;\n  }\n}\n',
    },
  ],
  'statement-delete': [
    { before: 'f();\ng();\n', after: 'g();\n' },
    { before: 'if (a) f();\n', after: 'if (a) {}\n' },
  ],
  'statement-move': [
    { before: 'f();\ng();\n', after: 'g();\nf();\n' },
    {
      before: 'function f(list) {\n  for (const x of list) {\n    if (x) return true;\n    return false;\n  }\n}\n',
      after: 'function f(list) {\n  for (const x of list) {\n    if (x) return true;\n  }\n  return false;\n}\n',
    },
    { before: 'for (const x of list) {\n  let n = 0;\n  n += x;\n}\n', after: 'let n = 0;\nfor (const x of list) {\n  n += x;\n}\n' },
    { before: 'if (a) {\n  f();\n}\ng();\n', after: 'if (a) {\n  f();\n  g();\n}\n' },
  ],
  'swap-arguments': [
    { before: 'f(a, b, c);\n', after: 'f(b, a, c);\n' },
    { before: 'x = a - b;\n', after: 'x = b - a;\n' },
    { before: 'x = grid[i][j];\n', after: 'x = grid[j][i];\n' },
    { before: 'list.map((index, item) => item);\n', after: 'list.map((item, index) => item);\n' },
    { before: 'x = a ? b : c;\n', after: 'x = a ? c : b;\n' },
  ],
  truthiness: [
    { before: 'if (limit) f();\n', after: 'if (limit !== undefined) f();\n' },
    { before: 'if (!found.get(a)) f();\n', after: 'if (found.get(a) === undefined) f();\n' },
    { before: 'const list = [];\nif (list) f();\n', after: 'const list = [];\nif (list.length > 0) f();\n' },
  ],
  update: [
    { before: 'total = price;\n', after: 'total += price;\n' },
    { before: 'a.b -= c;\n', after: 'a.b += c;\n' },
    { before: 'x = i++;\n', after: 'x = ++i;\n' },
    { before: 'x.y = z;\n', after: 'x.y ??= z;\n' },
  ],
};

testOperators({ grammar: 'typescript', rules, open: (source, root) => new ScriptFile(source, root) }, operators, rows);
