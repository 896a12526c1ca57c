import { afterAll, beforeAll, describe, expect, it } from 'vitest';
import { installedGrammars, loadGrammars, type Grammars } from '../rails/index.ts';
import { measureSources, pythonSurfaces, type SourceFeatures } from './index.ts';
import { here } from './testing/here.ts';

let grammars: Grammars;
beforeAll(async () => {
  grammars = await loadGrammars(installedGrammars());
});
afterAll(() => grammars.close());

type Case = readonly [name: string, path: string, before: string, after: string, expected: SourceFeatures];

const plain = 'def f(a):\n    return a\n';
const script = 'export const f = (a) => a;\n';
const more =
  (path: string, before: string) =>
  (name: string, added: string, expected: SourceFeatures): Case => [name, path, before, before + added, expected];
const [python, javascript] = [more('m.py', plain), more('m.mjs', script)];
const one = { lintDelta: 1 };
const none = { lintDelta: 0 };

const cases: readonly Case[] = [
  python('each decision', 'def g(a):\n    if a and f(a) and a > 1:\n        return [x for x in a if x]\n    return 1 if a else 2\n', {
    complexityDelta: 5,
    lintDelta: 0,
  }),
  python('an import that nobody uses', 'import os\n', one),
  python('a local that nobody reads', 'def g(a):\n    b = a\n    return a\n', one),
  python('what nothing comes to', 'def g(a):\n    return a\n    f(a)\n', one),
  python('identity with a text', "def g(a):\n    return a is 'x'\n", one),
  python('equality with None', 'def g(a):\n    return a == None\n', one),
  python('a name beside itself', 'def g(a):\n    return a < a\n', one),
  python('an assignment to itself', 'def g(a):\n    a = a\n    return a\n', one),
  python('an except for all', 'def g(a):\n    try:\n        f(a)\n    except:\n        raise\n', one),
  python('a default that is kept', 'def g(a=[]):\n    return a\n', one),
  python('a key twice', 'G = {1: 2, 1: 3}\n', one),
  python('a format without parts', "G = f'x'\n", one),
  python('a statement without effect', 'def g(a):\n    a == 1\n', one),
  python(
    'nothing of what is usual',
    'import os\n\ndef g(a, b=()):\n    """Text."""\n    if a is None or a is True:\n        raise ValueError(f"{a}")\n    _ = os.sep\n    for x in b:\n        a += x\n    return a\n',
    none,
  ),
  javascript(
    'each decision',
    'export function g(a) {\n  if (a && f(a)) return 1;\n  for (const b of a) f(b ?? 1);\n  return a ? 1 : 2;\n}\n',
    {
      complexityDelta: 5,
      lintDelta: 0,
    },
  ),
  javascript('an import that nobody uses', "import { join } from 'node:path';\n", one),
  javascript('a variable that nobody reads', 'const g = 1;\n', one),
  javascript('what nothing comes to', 'export function g(a) {\n  return a;\n  f(a);\n}\n', one),
  javascript('loose equality', 'export const g = (a) => a == 1;\n', one),
  javascript('equality with NaN', 'export const g = (a) => a === NaN;\n', one),
  javascript('a name beside itself', 'export const g = (a) => a === a;\n', one),
  javascript('a key twice', 'export const g = { a: 1, a: 2 };\n', one),
  javascript(
    'a case twice',
    'export function g(a) {\n  switch (a) {\n    case 1:\n      return 1;\n    case 1:\n      return 2;\n  }\n}\n',
    one,
  ),
  javascript(
    'an assignment as a condition',
    'export function g(a, b) {\n  if ((a = b)) return a;\n}\nexport function h(a, b) {\n  if (a = b) return a;\n}\n',
    one,
  ),
  javascript('an error that is thrown away', 'export function g(a) {\n  try {\n    f(a);\n  } catch {}\n}\n', one),
  javascript('a statement without effect', 'export function g(a) {\n  a === 1;\n}\n', one),
  javascript(
    'nothing of what is usual',
    "'use strict';\nimport fs, { join } from 'node:path';\nconst g = (a) => a == null;\nexport function h({ a, b: c }) {\n  const d = fs.sep;\n  a && g(a);\n  return join(c, d);\n}\nexport { g };\n",
    none,
  ),
];

describe('complexity and findings', () => {
  const found = new Map<Case, SourceFeatures>();
  beforeAll(async () => {
    const ports = { grammars, python: pythonSurfaces('/nonexistent', here), read: () => Promise.resolve(null) };
    const changes = cases.map(([, path, before, after]) => [{ path, before, after }]);
    for (const [at, features] of (await measureSources(changes, ports)).entries()) found.set(cases[at] as Case, features);
  }, 120_000);

  it.each(cases.map((one) => [`${one[0]} in ${one[1]}`, one] as const))('counts %s', (_, one) => {
    expect(found.get(one)).toMatchObject(one[4]);
  });

  it('is after minus before: a mended finding counts against itself', async () => {
    const ports = { grammars, python: pythonSurfaces('/nonexistent', here), read: () => Promise.resolve(null) };
    const change = [{ path: 'm.mjs', before: `${script}const g = 1;\n`, after: script }];
    expect((await measureSources([change], ports))[0]).toMatchObject({ lintDelta: -1, complexityDelta: 0 });
  });

  it('reports nothing for an unreadable file', async () => {
    const ports = { grammars, python: pythonSurfaces('/nonexistent', here), read: () => Promise.resolve(null) };
    const [found] = await measureSources([[{ path: 'm.mjs', before: script, after: 'f = (' }]], ports);
    expect(found).toEqual({ brokenNodes: 1 });
  });
});
