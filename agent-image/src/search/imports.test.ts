import { describe, expect, it } from 'vitest';
import { importsOf, reachable } from './localise.ts';

const tree = new Set(['a.js', 'src/b.ts', 'src/c/index.ts', 'src/d.mts', 'src/e.js', 'src/e.ts', 'lib/f.cjs', 'test/a.test.ts']);

describe('imports of a file', () => {
  it.for([
    ["import { b } from '../src/b.ts';", ['src/b.ts']],
    ['import b from "../src/b";', ['src/b.ts']],
    ["import '../src/b.js';", ['src/b.ts']],
    ["export * from '../src/c';", ['src/c/index.ts']],
    ["const { d } = await import('../src/d.mjs');", ['src/d.mts']],
    ["const f = require('../lib/f');", ['lib/f.cjs']],
    ["import type { E } from '../src/e.js';", ['src/e.js']],
    ["import fs from 'node:fs'; import x from 'left-pad';", []],
    ["import gone from './gone.js';", []],
    ["import {\n  one,\n  two,\n} from '../a.js';", ['a.js']],
  ] as const)('%s', ([text, paths]) => {
    expect(importsOf('test/a.test.ts', text, tree)).toEqual(paths);
  });
});

it('follows imports, the nearest first, and through circles only once', async () => {
  const texts: Readonly<Record<string, string>> = {
    'test/a.test.ts': "import '../src/b.ts'",
    'src/b.ts': "import './c/index.ts'; import '../test/a.test.ts'",
    'src/c/index.ts': "import '../b.ts'",
  };
  const found = await reachable(['test/a.test.ts'], tree, (path) => Promise.resolve(texts[path] ?? null));
  expect([...found]).toEqual([
    ['src/b.ts', 1],
    ['src/c/index.ts', 2],
  ]);
});
