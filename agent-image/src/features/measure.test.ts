import { afterAll, beforeAll, describe, expect, it } from 'vitest';
import { installedGrammars, loadGrammars, type Grammars } from '../rails/index.ts';
import { measureSources, pythonSurfaces, type RunProgram, type SourceFeatures } from './index.ts';
import { here } from './testing/here.ts';

let grammars: Grammars;
beforeAll(async () => {
  grammars = await loadGrammars(installedGrammars());
});
afterAll(() => grammars.close());

const nothingThere = (): Promise<null> => Promise.resolve(null);

async function measured(
  path: string,
  before: string | null,
  after: string,
  tree: Readonly<Record<string, string>> = {},
): Promise<SourceFeatures> {
  const ports = { grammars, python: pythonSurfaces('/nonexistent', here), read: (name: string) => Promise.resolve(tree[name] ?? null) };
  const others = Object.entries(tree)
    .filter(([name]) => name.endsWith('.py'))
    .map(([name, content]) => ({ path: name, before: content, after: content }));
  const [found] = await measureSources([[{ path, before, after }, ...others]], ports);
  return found ?? {};
}

describe('Python', () => {
  const tree = { 'shop/prices.py': 'def net(amount):\n    return amount\n' };
  const wrong = [
    ['a name that a module of the standard library lacks', 'import math\nx = math.sqr(2)\n'],
    ['an import of a name that is not there', 'from os.path import joined\n'],
    ['an import of a module that is not there', 'import no_such_module_at_all\n'],
    ['too many arguments', 'def f(a):\n    return a\nf(1, 2)\n'],
    ['a missing argument', 'def f(a, *, b):\n    return a\nf(1)\n'],
    ['a keyword that is not there', 'def f(a):\n    return a\nf(1, c=2)\n'],
    ['an argument that is given twice', 'def f(a, b=1):\n    return a\nf(1, a=2)\n'],
    ['a method that the class of a value lacks', 'def f():\n    x = []\n    x.add(1)\n    return x\n'],
    ['too few arguments for the standard library', 'import re\nre.sub("a", "b")\n'],
    ['a name that is bound nowhere', 'def f():\n    return nothere\n'],
    ['an attribute that no method sets', 'class A:\n    def f(self):\n        return self.gone\n'],
    ['a name that another file lacks', 'from shop.prices import tax\n'],
    ['too many arguments for a function of another file', 'from shop.prices import net\nnet(1, 2)\n'],
  ] as const;
  const unsure = [
    [
      'what a decorator, a star or a keyword dictionary hides',
      'from x_unknown import *\n\n@wrap\ndef f(a):\n    return a\n\nf(1, 2, **{})\n',
    ],
    ['a name of an outer function', 'def f(rows):\n    def g():\n        return rows\n    return [g() for _ in rows]\n'],
    [
      'names of except, match and walrus',
      'def f(x):\n    try:\n        return (y := x) + y\n    except ValueError as e:\n        return e\n',
    ],
    ['an attribute of a class with bases', 'class A(dict):\n    def f(self):\n        return self.gone\n'],
    ['an alias that is bound again', 'import json\njson = None\njson.nothing\n'],
  ] as const;
  const found = new Map<string, SourceFeatures>();
  // One run of the interpreter for all of them, as in a round of proposals.
  beforeAll(async () => {
    const ports = { grammars, python: pythonSurfaces('/nonexistent', here), read: nothingThere };
    const others = Object.entries(tree).map(([path, content]) => ({ path, before: content, after: content }));
    const changes = [
      ...wrong.map(([, after]) => [{ path: 'm.py', before: '', after }, ...others]),
      ...unsure.map(([, after]) => [{ path: 'm.py', before: 'from x_unknown import *\n', after }]),
    ];
    for (const [at, features] of (await measureSources(changes, ports)).entries())
      found.set([...wrong, ...unsure][at]?.[0] ?? '', features);
  }, 120_000);

  it.each(wrong)('counts %s', (name) => {
    expect(found.get(name)).toMatchObject({ apiMismatch: 1, brokenNodes: 0 });
  });

  it.each(unsure)('does not guess at %s', (name) => {
    expect(found.get(name)?.apiMismatch ?? 0).toBeLessThanOrEqual(0);
    expect(found.get(name)?.brokenNodes).toBe(0);
  });

  it('is after minus before, so that an edit does not answer for the rest of its file', async () => {
    const old = 'import math\nx = math.sqr(2)\n';
    expect(await measured('m.py', old, `${old}y = 1\n`)).toMatchObject({ apiMismatch: 0, brokenNodes: 0 });
    expect(await measured('m.py', old, 'import math\nx = math.sqrt(2)\n')).toMatchObject({ apiMismatch: -1, brokenNodes: 0 });
  });

  it('reports syntax errors, and nothing of the uses in the file', async () => {
    expect(await measured('m.py', 'x = 1\n', 'x = (1\n')).toEqual({ brokenNodes: 1 });
    expect(await measured('m.py', 'x = (1\n', 'x = 1\n')).toEqual({ brokenNodes: -1 });
  });

  it('runs nothing of the workspace', async () => {
    const trapped = await measured('m.py', '', 'import trap\n', { 'trap.py': 'raise SystemExit("it ran")\n' });
    expect(trapped).toMatchObject({ apiMismatch: 0, brokenNodes: 0 });
  });

  it.each([
    ['no answer', null],
    ['no JSON', 'Traceback'],
    ['too few', '[]'],
    ['no list', '{"a": 1}'],
  ])('measures nothing where the sandbox gives %s, and asks once', async (_, answer) => {
    let asked = 0;
    const run: RunProgram = () => {
      asked += 1;
      return Promise.resolve(answer);
    };
    const ports = { grammars, python: pythonSurfaces('/w', run), read: nothingThere };
    const change = [{ path: 'm.py', before: null, after: 'x = 1\n' }];
    expect(await measureSources([change], ports)).toEqual([{}]);
    expect(await measureSources([change], ports)).toEqual([{}]);
    expect(asked).toBe(1);
  });

  it('takes numbers alone from the sandbox', async () => {
    const run: RunProgram = () => Promise.resolve('[[-5, 0.5, "1", null]]');
    const ports = { grammars, python: pythonSurfaces('/w', run), read: nothingThere };
    expect(await measureSources([[{ path: 'm.py', before: null, after: 'x = 1\n' }]], ports)).toEqual([{}]);
  });
});

describe('JavaScript and TypeScript', () => {
  const tree = { 'src/price.ts': 'export function net(amount: number): number {\n  return amount;\n}\nexport const tax = 0.2;\n' };

  it.each([
    ['a name that a file lacks', "import { gross } from './price.ts';\ngross(1);\n"],
    ['a file that is not there', "import { net } from './prices.ts';\nnet(1);\n"],
    ['a default that a file lacks', "import price from './price.ts';\nprice(1);\n"],
    ['a member that a file lacks', "import * as price from './price.ts';\nprice.gross(1);\n"],
    ['too many arguments for a function of another file', "import { net } from './price.js';\nnet(1, 2);\n"],
    ['a name that a module of the runtime lacks', "import { readFil } from 'node:fs';\nreadFil('a');\n"],
    ['a member that a module of the runtime lacks', "import path from 'node:path';\npath.jion('a');\n"],
    ['a module that the runtime lacks', "import { a } from 'node:nothing';\na();\n"],
    ['too many arguments', 'const f = (a) => a;\nf(1, 2);\n'],
    ['a member that an object of the language lacks', 'Math.sqr(2);\n'],
    ['a method that the class of a value lacks', 'const seen = new Set();\nseen.push(1);\n'],
    ['a name that is bound nowhere', 'export const f = () => nothere + 1;\n'],
  ])('counts %s', async (_, after) => {
    expect(await measured('src/m.ts', '', after, tree)).toMatchObject({ apiMismatch: 1, brokenNodes: 0 });
  });

  it.each([
    [
      'rest, spread and arguments',
      'function f() {\n  return arguments.length;\n}\nconst g = (...all) => all;\nf(1);\ng(1, 2);\nconst h = (a) => a;\nh(...[1, 2]);\n',
    ],
    ['packages', "import { anything } from 'somewhere';\nanything(1, 2, 3);\n"],
    [
      'patterns',
      'export function f({ a, b: [c] }, ...d) {\n  for (const [e, g] of d) a(c, e, g);\n  try {\n    a();\n  } catch (h) {\n    c(h);\n  }\n}\n',
    ],
    ['what is handed on', "import { x } from './all.mjs';\nx();\n"],
    ['names that are bound twice', 'let f = (a) => a;\n{\n  let f = (a, b) => a + b;\n  f(1, 2);\n}\n'],
  ])('does not guess at %s', async (_, after) => {
    expect(await measured('src/m.mjs', '', after, { 'src/all.mjs': "export * from 'somewhere';\n" })).toMatchObject({
      apiMismatch: 0,
      brokenNodes: 0,
    });
  });

  it('reads the types of TypeScript', async () => {
    const code =
      'interface A<T> {\n  readonly a?: T;\n}\nexport const f = <T,>(a: A<T>, b = 1): T | undefined => (b ? a.a : undefined);\nf<string>({}, 2);\nenum E {\n  A,\n}\nexport const e: E = E.A;\n';
    expect(await measured('m.ts', '', code)).toMatchObject({ apiMismatch: 0, brokenNodes: 0 });
  });

  it('reports syntax errors', async () => {
    expect(await measured('m.js', 'f = 1;\n', 'f = (1;\n')).toMatchObject({ brokenNodes: 1 });
    expect(await measured('m.ts', 'let a: number;\n', 'let a: = ;\n')).toMatchObject({ brokenNodes: 1 });
    expect(await measured('m.json', '{}', '{')).toMatchObject({ apiMismatch: 0, brokenNodes: 1 });
  });
});
