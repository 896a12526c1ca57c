import { join } from 'node:path';
import { fileURLToPath } from 'node:url';
import { homeDir } from '@agentfleet/protocol/keeper';
import { afterEach, beforeEach, expect, test } from 'vitest';
import { LocalKeeper } from './testing/localKeeper.ts';
import { trace, type Traced } from './testing/trace.ts';

/** The Node of the tools image, first in the path: `npm` and scripts find it, too. */
const bin = fileURLToPath(new URL(`../../../node_modules/node-linux-${process.arch}/bin`, import.meta.url));
const PATH = `${bin}:${process.env['PATH'] ?? ''}`;

let keeper: LocalKeeper;
beforeEach(async () => {
  keeper = await LocalKeeper.create();
});
afterEach(() => keeper.remove());

const traced = (command: readonly string[], files: Readonly<Record<string, string>>, more: object = {}): Promise<Traced> =>
  trace(keeper, command, files, { env: { PATH }, ...more });

const node = join(bin, 'node');

const clamp = `export interface Range {
  low: number;
  high: number;
}

/** Into the range. */
export function clamp(x: number, { low, high }: Range): number {
  // ä and 😀: offsets are not bytes
  if (x < low) return low;
  if (x > high) {
    return low;
  }
  return x;
}

export const twice = (x: number): number => {
  const helper = (): number =>
    x + 1;
  return x * 2;
};
`;

const clampTest = `import assert from 'node:assert';
import { describe, it, test } from 'node:test';
import { clamp, twice } from './clamp.ts';

const range = { low: 0, high: 10 };

test('inside', () => {
  assert.equal(clamp(5, range), 5);
});

describe('edges', () => {
  it('low', () => {
    assert.equal(clamp(-5, range), 0);
  });
  it('high', () => {
    assert.equal(clamp(50, range), 10);
  });
});

test('all', async (t) => {
  await t.test('twice', () => {
    assert.equal(twice(2), 5);
  });
});

test('not now', { skip: true }, () => {});
`;

test('gives each test of node:test its own lines and the ids that the output has, with types stripped', async () => {
  const { lines, outcomes, runs } = await traced([node, '--test'], { 'clamp.ts': clamp, 'clamp.test.ts': clampTest });
  expect(lines('clamp.ts')).toEqual({
    inside: [7, 9, 10, 13],
    'edges > low': [7, 9],
    'edges > high': [7, 9, 10, 11],
    all: [16, 17, 19],
    'all > twice': [16, 17, 19],
  });
  expect(outcomes()).toEqual({
    inside: 'Passed',
    'edges > low': 'Passed',
    'edges > high': 'Failed',
    all: 'Failed',
    'all > twice': 'Failed',
  });
  expect((await traced([node, '--test'], {})).runs).toEqual(runs);
});

test('a module that is required, tests at the same time, and programs that a test starts', async () => {
  const files = {
    'sum.cjs': 'exports.sum = (a, b) => {\n  return a + b;\n};\nexports.other = () => {\n  return 1;\n};\n',
    'tool.mjs': "import { createRequire } from 'node:module';\nconst { other } = createRequire(import.meta.url)('./sum.cjs');\nother();\n",
    'sum.test.cjs': `const { test } = require('node:test');
const { execFileSync } = require('node:child_process');
const { sum, other } = require('./sum.cjs');
const wait = () => new Promise((resolve) => setTimeout(resolve, 20));
test('together', { concurrency: true }, async (t) => {
  await Promise.all([t.test('a', async () => { await wait(); sum(1, 2); }), t.test('b', wait)]);
});
test('program', () => {
  const text = execFileSync(process.execPath, ['tool.mjs']).toString();
  if (text !== '') throw new Error(text);
});
`,
  };
  const { lines, outcomes } = await traced(['sh', '-c', `${node} --test sum.test.cjs`], files);
  expect(lines('sum.cjs')).toMatchObject({ 'together > a': [1, 2], program: [1, 4, 5] });
  expect(lines('tool.mjs')['program']).toEqual([1, 2, 3]);
  expect(Object.values(outcomes())).toEqual(['Passed', 'Passed', 'Passed', 'Passed']);
});

test('npm test is followed through its script; packages and other files are left out', async () => {
  const files = {
    'package.json': '{"type": "module", "scripts": {"test": "node --test"}}',
    'node_modules/dep/package.json': '{"type": "module", "exports": "./index.js"}',
    'node_modules/dep/index.js': 'export const dep = () => 1;\n',
    'a.js': "import { dep } from 'dep';\nexport const a = () => dep();\n",
    'a.test.js': "import test from 'node:test';\nimport { a } from './a.js';\ntest('a', () => void a());\n",
  };
  const { runs } = await traced(['npm', 'test'], files);
  expect(runs).toEqual([
    {
      test: 'a',
      outcome: 'Passed',
      covered: [
        { path: 'a.js', lines: [2] },
        { path: 'a.test.js', lines: [3] },
      ],
    },
  ]);
});

test('a program without node:test is one run by its path, and a test file that cannot be loaded, too', async () => {
  const files = {
    'check.mjs': "import assert from 'node:assert';\nconst f = (x) => {\n  if (x) return 1;\n  return 2;\n};\nassert.equal(f(true), 2);\n",
    'late.test.mjs': "import test from 'node:test';\nthrow new Error('broken');\n",
  };
  const plain = await traced([node, 'check.mjs'], files);
  expect(plain.runs).toEqual([{ test: 'check.mjs', outcome: 'Failed', covered: [{ path: 'check.mjs', lines: [1, 2, 3, 6] }] }]);
  const broken = await traced([node, '--test', 'late.test.mjs'], {});
  expect(broken.outcomes()).toEqual({ 'late.test.mjs': 'Failed' });
});

test('tests run before a time-out or a sudden end stay', async () => {
  const ending = (line: string): string => `import test from 'node:test';\ntest('a', () => {});\ntest('b', async () => {\n  ${line}\n});\n`;
  const exited = await traced([node, '--test', 'exit.test.mjs'], { 'exit.test.mjs': ending('process.exit(3);') });
  expect(exited.outcomes()).toEqual({ a: 'Passed' });
  const files = { 'late.test.mjs': ending('await new Promise((r) => setTimeout(r, 600_000));') };
  const late = await traced([node, '--test', 'late.test.mjs'], files, { timeoutSeconds: 3 });
  expect(late.outcomes()).toEqual({ a: 'Passed' });
});

test('a script made from a file has other lines and is left out; existing flags stay', async () => {
  const files = {
    'made.mjs':
      "import vm from 'node:vm';\nnew vm.Script('\\n'.repeat(999) + 'globalThis.x = 1;', { filename: import.meta.url.replace('made', 'other') }).runInThisContext();\nif (process.noDeprecation !== true) throw new Error('flag lost');\n",
    'other.mjs': 'let y = 1;\n',
  };
  const { runs } = await traced([node, 'made.mjs'], files, { env: { PATH, NODE_OPTIONS: '--no-deprecation' } });
  expect(runs.map(({ outcome, covered }) => [outcome, covered.map(({ path }) => path)])).toEqual([['Passed', ['made.mjs']]]);
  expect(keeper.requests.some(({ env }) => env?.['NODE_OPTIONS']?.startsWith('--no-deprecation --import='))).toBe(true);
  expect(keeper.requests.every(({ env }) => env?.['PYTHONPATH'] === undefined)).toBe(true);
  expect(homeDir).not.toMatch(/\s/); // NODE_OPTIONS has no quotes here
});
