import { execFileSync } from 'node:child_process';
import { existsSync, readFileSync } from 'node:fs';
import { posix } from 'node:path';
import { fileURLToPath } from 'node:url';
import { describe, expect, test } from 'vitest';
import { importsOf, isMeasured, measure } from '../hack/size/measure.ts';

const root = fileURLToPath(new URL('..', import.meta.url));
const listed = execFileSync('git', ['ls-files', '--cached', '--others', '--exclude-standard', '-z', '*.ts', '*.tsx'], {
  cwd: root,
  encoding: 'utf8',
});
const files = listed
  .split('\0')
  .filter((path) => isMeasured(path) && existsSync(root + path))
  .map((path) => ({ path, text: readFileSync(root + path, 'utf8') }));
const { fileCircles, folderCircles } = measure(files);

/** Lists import circles, one a line. */
const lines = (groups: readonly (readonly string[])[]): string[] => groups.map((group) => group.join(' ')).sort();

test.each([
  ['files', fileCircles],
  ['folders', folderCircles],
])('no circle of %s', (_, found) => {
  expect(files.length).toBeGreaterThan(1000);
  expect(lines(found)).toEqual([]);
});

test('every index.ts below a src states before its code what its folder may import', () => {
  const indexes = files.filter(({ path }) => /\/src\/.+\/index\.ts$/u.test(path));
  const silent = indexes.filter(({ text }) => !/\bimport/iu.test(text.slice(0, text.search(/^(?:import|export)\b/mu))));
  expect(indexes.length).toBeGreaterThan(50);
  expect(silent.map(({ path }) => path)).toEqual([]);
});

test('no docstring begins with a question word: it states what a function returns, or what a name holds', () => {
  const opening = /\/\*\*\s+(?:\*\s+)?((?:What|Who|Whom|Whose|How|Where|When|Which|Why)\b[^\n]{0,60})/gu;
  const asking = files.flatMap(({ path, text }) => [...text.matchAll(opening)].map(([, words]) => `${path}: ${words}`));
  expect(asking).toEqual([]);
});

const page = readFileSync(`${root}docs/architecture.md`, 'utf8');
const section = page.slice(page.indexOf('## Layers'), page.indexOf('## Folders'));

/** Packages, and folders with layers of their own, in the order of docs/architecture.md: folders of later levels are imported by earlier ones. */
const packages = [...section.matchAll(/^- `(?<name>[\w/-]+)`: (?<levels>[^-`]+(?:-[^-`]+)*?)(?=\n(?:-|\n))/gmu)]
  .map(({ groups }) => ({
    name: groups?.['name'] ?? '',
    levels: (groups?.['levels'] ?? '').split('→').map((level) => level.split(',').map((folder) => folder.trim())),
  }))
  .filter(({ name }) => !name.includes('runner'));

test('every package with folders has its layers in docs/architecture.md', () => {
  const known = files.flatMap(({ path }) => /^(?<name>.+?\/src)\/\w+\//u.exec(path)?.groups?.['name'] ?? []);
  const whole = packages.map(({ name }) => name).filter((name) => name.endsWith('/src'));
  expect(whole.sort()).toEqual([...new Set(known)].sort());
});

describe.each(packages)('in $name', ({ name, levels }) => {
  const own = files.filter(({ path }) => path.startsWith(`${name}/`));
  const inside = (path: string): string => path.slice(name.length + 1);
  /** Returns the folder of a file, or the file itself when it is beside the folders. */
  const folderOf = (path: string): string =>
    /^(?:controllers\/)?\w+(?=\/)/u.exec(inside(path))?.[0] ?? inside(path).replace(/\.tsx?$/u, '');
  const levelOf = (folder: string): number => levels.findIndex((level) => level.includes(folder));

  test('all folders are in a level, and imports go to later levels only', () => {
    const folders = new Set(own.filter(({ path }) => inside(path).includes('/')).map(({ path }) => folderOf(path)));
    expect([...folders].filter((folder) => levelOf(folder) < 0)).toEqual([]);
    expect(
      levels.flat().filter((folder) => !folders.has(folder) && own.every(({ path }) => inside(path).replace(/x$/u, '') !== `${folder}.ts`)),
    ).toEqual([]);
    const wrong = [...importsOf(own)].flatMap(([path, targets]) => {
      const [from, level] = [folderOf(path), levelOf(folderOf(path))];
      return [...targets]
        .filter((to) => level >= 0 && folderOf(to) !== from && levelOf(folderOf(to)) <= level)
        .map((to) => `${path} imports ${to}`);
    });
    expect(wrong).toEqual([]);
  });

  test('a folder of more than 8 files states what belongs there and what it may import', () => {
    const folders = Map.groupBy(own, ({ path }) => posix.dirname(path));
    const silent = [...folders].filter(([folder, inside]) => {
      const header = inside.find(({ path }) => path === `${folder}/index.ts`)?.text.split(/^(?:import|export) /mu)[0] ?? '';
      return inside.length > 8 && !/\b(?:may import|imports?)\b/iu.test(header);
    });
    expect(silent.map(([folder]) => folder)).toEqual([]);
  });
});
