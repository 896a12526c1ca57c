import { expect, test } from 'vitest';
import { executedIn, executedTable } from './executed.ts';
import { circles, isSource, measure, table } from './measure.ts';

const schema = (kind: string, spec: string): string => `
spec:
  names: {kind: ${kind}}
  versions:
    - schema:
        openAPIV3Schema:
          properties:
            spec: ${spec}
`;

test.each([
  ['operator/src/a.ts', true],
  ['operator/src/a.test.ts', false],
  ['sandbox-image/runner/a_test.go', false],
  ['operator/src/testing/a.ts', false],
  ['test/packs/x/a.ts', false],
  ['docs/a.md', false],
])('%s is a source: %s', (path, expected) => {
  expect(isSource(path)).toBe(expected);
});

test('counts files, lines, leaf fields and circles', () => {
  const size = measure([
    { path: 'a/src/x/one.ts', text: "import { two } from '../y/two.ts';\n" },
    { path: 'a/src/y/two.ts', text: "import {\n  three,\n} from '../x/three.ts';\nexport const two = 2;\n" },
    { path: 'a/src/x/three.ts', text: "export type { Four } from './four.ts';\n" },
    { path: 'a/src/x/four.ts', text: "import type { Three } from './three.ts';\n\n" },
    { path: 'a/src/x/one.test.ts', text: '\n\n\n' },
    {
      path: 'crds/agentfleet.dev_as.yaml',
      text: schema(
        'A',
        '{properties: {flat: {}, list: {items: {properties: {x: {}, y: {}}}}, map: {additionalProperties: {type: string}}}}',
      ),
    },
  ]);
  expect(size).toMatchObject({ files: 4, lines: 8, medianFile: 2 });
  expect([...size.packages]).toEqual([['a', 8]]);
  expect([...size.fields]).toEqual([['A', 4]]);
  expect(size.fileCircles).toEqual([['a/src/x/four.ts', 'a/src/x/three.ts']]);
  expect(size.folderCircles).toEqual([['a/src/x', 'a/src/y']]);
  expect(table(new Map([['abc', size]]))).toContain('| leaf fields of A | 4 |');
});

test('finds each group of nodes that reach each other, and no chain', () => {
  const graph = new Map(
    Object.entries({ a: ['b'], b: ['c'], c: ['a', 'd'], d: ['e'], e: ['d'], f: ['a'] }).map(([node, to]) => [node, new Set(to)]),
  );
  expect(circles(graph)).toEqual([
    ['a', 'b', 'c'],
    ['d', 'e'],
  ]);
});

test('a file ran when a function of it was called more often than by importing it', () => {
  const script = (path: string, calls: Readonly<Record<string, number>>): object => ({
    url: `file:///r/${path}`,
    functions: Object.entries({ '': 1, ...calls }).map(([functionName, count], at) => ({
      functionName,
      ranges: [{ startOffset: at, count }],
    })),
  });
  const scripts = (...all: object[]) => all as unknown as Parameters<typeof executedIn>[1];
  const first = scripts(script('cli/a.ts', { atImport: 1, later: 0 }), script('cli/b.ts', { '<static_initializer>': 1 }));
  const second = scripts(script('cli/a.ts', { atImport: 1, later: 2 }), script('eval/c.ts', { atImport: 3 }), script('../d.ts', { x: 1 }));
  const found = executedIn([first, second], scripts(script('cli/a.ts', { atImport: 1 }), script('eval/c.ts', { atImport: 3 })), '/r');
  expect([[...found.loaded], [...found.ran]]).toEqual([['cli/a.ts', 'cli/b.ts', 'eval/c.ts'], ['cli/a.ts']]);
  expect(executedTable(new Map([['abc', found]]))).toContain('| cli | 1 of 2 |');
});
