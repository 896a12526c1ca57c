import { execFileSync } from 'node:child_process';
import { existsSync, readFileSync } from 'node:fs';
import { posix } from 'node:path';
import { fileURLToPath } from 'node:url';
import { describe, expect, test } from 'vitest';
import { importsOf, isMeasured, measure } from '../hack/size/measure.ts';
import remaining from './circles.json' with { type: 'json' };

const root = fileURLToPath(new URL('..', import.meta.url));
const listed = execFileSync('git', ['ls-files', '--cached', '--others', '--exclude-standard', '-z', '*.ts'], {
  cwd: root,
  encoding: 'utf8',
});
const files = listed
  .split('\0')
  .filter((path) => isMeasured(path) && existsSync(root + path))
  .map((path) => ({ path, text: readFileSync(root + path, 'utf8') }));
const { fileCircles, folderCircles } = measure(files);

/** What imports itself around a circle, one a line. */
const lines = (groups: readonly (readonly string[])[]): string[] => groups.map((group) => group.join(' ')).sort();

// circles.json may only shrink: break a circle rather than list it, and take an entry out once it is broken.
test.each([
  ['files', fileCircles, remaining.files],
  ['folders', folderCircles, remaining.folders],
])('no circle of %s but those of circles.json, which are all there', (_, found, known) => {
  expect(files.length).toBeGreaterThan(1000);
  expect(lines(found)).toEqual(lines(known));
});

/** Layers of `operator/src` from the bottom up; each may import those that it names, and nothing above. */
const layers: Readonly<Record<string, readonly string[]>> = {
  placement: [],
  rollout: [],
  runtime: ['placement'],
  pools: ['runtime'],
  serving: ['placement', 'runtime'],
  revisions: ['rollout', 'pools', 'serving', 'runtime'],
  operands: ['revisions', 'pools', 'runtime'],
  'controllers/agenttask': ['revisions', 'pools', 'runtime'],
  'controllers/agenttaskorder': ['controllers/agenttask', 'revisions', 'runtime'],
  'controllers/warmpool': ['controllers/agenttask', 'pools', 'runtime'],
  'controllers/placement': ['operands', 'revisions', 'serving', 'placement', 'runtime'],
  'controllers/expertpool': [
    'controllers/agenttask',
    'controllers/warmpool',
    'operands',
    'revisions',
    'serving',
    'pools',
    'placement',
    'runtime',
  ],
  'controllers/energymodel': [
    'controllers/expertpool',
    'controllers/placement',
    'operands',
    'revisions',
    'rollout',
    'serving',
    'pools',
    'placement',
    'runtime',
  ],
  metrics: ['controllers/expertpool', 'controllers/placement', 'revisions', 'serving', 'pools', 'placement', 'runtime'],
};

/** Rooms of the controller runtime, `operator/kube/src`; each may import those of its own line and of the lines before. */
const rooms = [
  ['runtime', 'api'],
  ['transport'],
  ['client', 'watch'],
  ['cache', 'queue'],
  ['controller', 'apply', 'conditions', 'consistency', 'events', 'leader'],
  ['manager'],
];

/** The layer of a file of the operator; undefined for those that put it together, which may import everything. */
const layerOf = (path: string): string | undefined => /^operator\/src\/((?:controllers\/)?\w+)\//.exec(path)?.[1];

describe('inside the operator', () => {
  const own = files.filter(({ path }) => path.startsWith('operator/src/'));

  test('a layer imports only what it names', () => {
    const wrong = [...importsOf(own)].flatMap(([path, targets]) => {
      const layer = layerOf(path);
      const allowed = layer === undefined ? undefined : [layer, ...(layers[layer] ?? [])];
      return [...targets].filter((to) => allowed?.includes(layerOf(to) ?? '') === false).map((to) => `${path} imports ${to}`);
    });
    expect(wrong).toEqual([]);
    expect([...new Set(own.flatMap(({ path }) => layerOf(path) ?? []))].sort()).toEqual(Object.keys(layers).sort());
  });

  test('a room of kube imports only those before it', () => {
    const roomOf = (path: string): number => rooms.findIndex((line) => line.includes(path.split('/')[3] ?? ''));
    const kube = files.filter(({ path }) => /^operator\/kube\/src\/\w+\//.test(path));
    const edges = [...importsOf(kube)].flatMap(([path, targets]) => [...targets].map((to) => [path, to] as const));
    expect(edges.length).toBeGreaterThan(50);
    expect(edges.filter(([from, to]) => roomOf(to) === -1 || roomOf(to) > roomOf(from))).toEqual([]);
  });

  test('a folder of more than 8 files says what belongs there and what it may import', () => {
    const folders = Map.groupBy(own, ({ path }) => posix.dirname(path));
    const silent = [...folders].filter(([folder, inside]) => {
      const header = inside.find(({ path }) => path === `${folder}/index.ts`)?.text.split(/^(?:import|export) /mu)[0] ?? '';
      return inside.length > 8 && !/\b(?:may import|imports?)\b/iu.test(header);
    });
    expect(silent.map(([folder]) => folder)).toEqual([]);
  });
});
