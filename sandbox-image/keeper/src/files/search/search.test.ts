import { execFileSync } from 'node:child_process';
import { mkdir, mkdtemp, realpath, rm, symlink, truncate, writeFile } from 'node:fs/promises';
import { tmpdir } from 'node:os';
import { join } from 'node:path';
import { lookBounds, type SearchQuery } from '@agentfleet/protocol/keeper';
import * as fc from 'fast-check';
import { afterEach, beforeEach, describe, expect, it } from 'vitest';
import { systemClock, type Clock } from '../../base/clock.ts';
import { searchFiles } from './search.ts';
import { globPattern, regexPattern } from './search.ts';

let dir: string;
let root: string;

beforeEach(async () => {
  dir = await realpath(await mkdtemp(join(tmpdir(), 'search-')));
  root = join(dir, 'workspace');
  await mkdir(join(root, 'src', 'deep'), { recursive: true });
  await writeFile(join(root, 'a.ts'), 'one\nfoo(1)\r\nFOO(2)\n');
  await writeFile(join(root, 'src', 'b.py'), 'x = foo\n');
  await writeFile(join(root, 'src', 'deep', 'ü.ts'), '// ümlaut foo');
});

afterEach(() => rm(dir, { recursive: true, force: true }));

const never = new AbortController().signal;
const search = (query: Partial<SearchQuery>, clock: Clock = systemClock) =>
  searchFiles([root], { path: root, ...query }, { clock, signal: never });
const places = async (query: Partial<SearchQuery>): Promise<readonly string[]> =>
  (await search(query)).matches.map(({ path, line, column, text }) => `${path}:${line}:${column} ${text}`);

describe('a search', () => {
  it('finds a text, with file, line, column, and the text around it', async () => {
    expect(await search({ text: 'foo' })).toEqual({
      path: root,
      matches: [
        { path: 'a.ts', line: 2, column: 1, text: 'foo(1)' },
        { path: 'src/b.py', line: 1, column: 5, text: 'x = foo' },
        { path: 'src/deep/ü.ts', line: 1, column: 11, text: '// ümlaut foo' },
      ],
      truncated: false,
      endedBy: null,
      files: 3,
      skipped: { binary: 0, large: 0, unreadable: 0, longLines: 0 },
    });
    expect(await places({ text: 'FOO(', ignoreCase: 'true' })).toEqual(['a.ts:2:1 foo(1)', 'a.ts:3:1 FOO(2)']);
    expect(await places({ text: 'o.*1' })).toEqual([]);
  });

  it('finds the matches of a regular expression in the requested files', async () => {
    expect(await places({ regex: String.raw`^foo\(\d\)$` })).toEqual(['a.ts:2:1 foo(1)']);
    expect(await places({ regex: 'foo|one', include: '*.ts' })).toHaveLength(3);
    expect(await places({ regex: 'foo', include: 'src/*' })).toEqual(['src/b.py:1:5 x = foo']);
    expect(await places({ regex: 'foo', include: 'src/**' })).toHaveLength(2);
  });

  it('of one file, or of a link to one, looks at that file alone', async () => {
    await writeFile(join(root, 'src', 'a.ts'), 'foo');
    await symlink(join(root, 'a.ts'), join(root, 'src', 'link'));
    const found = { path: join(root, 'a.ts'), matches: [{ path: '', line: 2, column: 1, text: 'foo(1)' }], files: 1, endedBy: null };
    expect(await search({ path: join(root, 'a.ts'), text: 'foo' })).toMatchObject(found);
    expect(await search({ path: join(root, 'src', 'link'), text: 'foo', include: '*.py' })).toMatchObject(found);
    execFileSync('mkfifo', [join(root, 'fifo')]);
    for (const path of ['fifo', 'a.ts/x'])
      await expect(search({ path: join(root, path), text: 'foo' })).rejects.toMatchObject({ code: 'AF_FILE_NOT_REGULAR' });
  });

  it('skips and counts files that are binary or too large, and never follows a link', async () => {
    await writeFile(join(dir, 'secret'), 'foo');
    await symlink(join(dir, 'secret'), join(root, 'link'));
    await symlink(dir, join(root, 'up'));
    await symlink('..', join(root, 'src', 'loop'));
    execFileSync('mkfifo', [join(root, 'fifo')]);
    await writeFile(join(root, 'nul'), 'foo\0');
    await writeFile(join(root, 'latin'), Buffer.from('foo\xff', 'latin1'));
    await writeFile(join(root, 'large'), 'foo');
    await truncate(join(root, 'large'), lookBounds.fileBytes + 1);
    await writeFile(join(root, 'long'), `${'x'.repeat(lookBounds.lineChars)}foo\n`);
    const result = await search({ text: 'foo' });
    expect(result.matches).toHaveLength(3);
    expect(result.skipped).toEqual({ binary: 2, large: 1, unreadable: 0, longLines: 1 });
    await expect(search({ path: join(root, 'up'), text: 'foo' })).rejects.toMatchObject({ code: 'AF_PATH_OUTSIDE_ROOTS' });
    await expect(search({ path: '/etc', text: 'foo' })).rejects.toMatchObject({ code: 'AF_PATH_OUTSIDE_ROOTS' });
  });

  it('leaves out installed packages and the files of git, and names them, unless it is sent there', async () => {
    for (const folder of ['.git', 'node_modules/x', 'src/node_modules/y', '.venv/lib/z', 'vendor']) {
      await mkdir(join(root, folder), { recursive: true });
      await writeFile(join(root, folder, 'n.ts'), 'needle');
    }
    const all = await search({ text: 'needle' });
    expect(all.matches.map(({ path }) => path)).toEqual(['vendor/n.ts']);
    expect(all).toMatchObject({
      files: 4,
      leftOut: ['.venv', 'node_modules', 'src/node_modules'],
    });
    expect(await places({ text: 'needle', path: join(root, 'node_modules') })).toEqual(['x/n.ts:1:1 needle']);
    expect(await places({ text: 'needle', include: 'node_modules/**' })).toEqual(['node_modules/x/n.ts:1:1 needle']);
    expect(await places({ text: 'needle', include: '!**/node_modules/**' })).toEqual(['vendor/n.ts:1:1 needle']);
    expect((await search({ text: 'needle', include: '!*.ts' })).matches).toEqual([]);
    expect((await search({ text: 'needle', path: join(root, 'vendor') })).leftOut).toBeUndefined();
    expect((await search({ text: 'needle', include: 'src/**' })).leftOut).toEqual(['src/node_modules']);
  });

  it('leaves out a folder that says that it is a cache, as the target of cargo does, unless it is sent there', async () => {
    await mkdir(join(root, 'target/debug'), { recursive: true });
    await writeFile(join(root, 'target/CACHEDIR.TAG'), 'Signature: 8a477f597d28d172789f06886806bc55');
    await writeFile(join(root, 'target/debug/a.d'), 'needle');
    expect(await search({ text: 'needle' })).toMatchObject({ matches: [], leftOut: ['target'] });
    expect(await places({ text: 'needle', path: join(root, 'target') })).toEqual(['debug/a.d:1:1 needle']);
    expect(await places({ text: 'needle', include: 'target/**' })).toEqual(['target/debug/a.d:1:1 needle']);
  });

  it('reports that it stopped, and at which bound', async () => {
    expect(await search({ text: 'foo', limit: '2' })).toMatchObject({ truncated: true, endedBy: 'Matches', matches: [{}, {}] });
    expect(await search({ text: 'foo', limit: '3' })).toMatchObject({ truncated: false, endedBy: null });
    let now = 0;
    const slow: Clock = { ...systemClock, now: () => 0, monotonic: () => (now += lookBounds.millis / 4) };
    expect(await search({ text: 'nowhere' }, slow)).toMatchObject({ truncated: true, endedBy: 'Time' });
    const wallSet: Clock = { ...systemClock, now: () => (now += 3_600_000), monotonic: () => 0 };
    expect(await search({ text: 'nowhere' }, wallSet)).toMatchObject({ truncated: false, endedBy: null });
  });

  it('shows the part of a long line where the match is', async () => {
    await writeFile(join(root, 'a.ts'), `${'x'.repeat(5000)}needle${'y'.repeat(5000)}`);
    const [match] = (await search({ text: 'needle' })).matches;
    expect(match).toMatchObject({ column: 5001, text: expect.stringContaining('needle') as string });
    expect(match?.text.length).toBe(400);
  });

  it('ends when the caller has disconnected', async () => {
    await expect(searchFiles([root], { path: root, text: 'x' }, { clock: systemClock, signal: AbortSignal.abort() })).rejects.toThrow();
  });
});

describe('a regular expression', () => {
  const find = (regex: string, line: string, ignoreCase = false): number => regexPattern(regex, ignoreCase).find(line);

  it('has the usual meaning', () => {
    const atom = fc.constantFrom(
      'a',
      'b',
      '.',
      '[ab]',
      '[^a]',
      String.raw`\d`,
      String.raw`\W`,
      '(?:ab)',
      '(a|b)',
      '[a-c1]',
      String.raw`\.`,
    );
    const times = fc.constantFrom('', '', '', '*', '+', '?', '{2}', '{1,2}', '{2,}', '*?');
    const part = fc.oneof(
      fc.tuple(atom, times).map(([a, t]) => a + t),
      fc.constantFrom('^', '$', String.raw`\b`, String.raw`\B`),
    );
    const branch = fc.array(part, { maxLength: 4 }).map((parts) => parts.join(''));
    const regex = fc.array(branch, { minLength: 1, maxLength: 3 }).map((branches) => branches.join('|'));
    const line = fc.string({ unit: fc.constantFrom('a', 'b', 'c', '1', '.', ' ', 'A', 'ü', 'Ü'), maxLength: 12 });
    fc.assert(
      fc.property(regex, line, fc.boolean(), (pattern, text, fold) => {
        expect(find(pattern, text, fold)).toBe(text.search(new RegExp(pattern, fold ? 'ui' : 'u')));
      }),
      { numRuns: 3000 },
    );
  });

  it('takes a character outside of the basic plane as one', () => {
    expect([find('^.$', '😀'), find('[😀]b', 'a😀b'), find('^[^a]b', '😀b')]).toEqual([0, 1, 0]);
  });

  it.each(['(a*)*b', '(a|aa)+$', '(a|a)*b', 'a?'.repeat(40) + 'a'.repeat(40) + 'b', '(.*)*x', String.raw`(\w+\s?)+$!`])(
    '%s takes steps in proportion to the line',
    (pattern) => {
      // A backtracking engine needs more than 2^1000 steps for these.
      expect(find(pattern, 'a'.repeat(20_000))).toBe(pattern === '(a|aa)+$' ? 0 : -1);
    },
  );

  it.each<[string, RegExp]>([
    ['(', /missing closing \): \($/],
    [')', /unexpected \): \)$/],
    ['[a', /missing closing \]: \[a$/],
    ['*a', /missing argument to repetition operator: \*$/],
    ['a**', /invalid nested repetition operator: \*\*$/],
    ['(?=a)', /invalid or unsupported Perl syntax: \(\?=$/],
    [String.raw`(a)\1`, /invalid escape sequence: \\1$/],
    ['[z-a]', /invalid character class range: z-a$/],
    ['a{3,2}', /invalid repeat count: \{3,2\}$/],
    ['a{1001}', /invalid repeat count: \{1001\}$/],
    ['(((a{100}){100}){100})', /invalid repeat count: \{100\}$/],
    ['a{600}b{600}', /over 1000 parts$/],
    ['a\\', /trailing backslash at end of expression$/],
  ])('%s is refused, and why', (pattern, words) => {
    expect(() => regexPattern(pattern, false)).toThrow(
      expect.objectContaining({ code: 'AF_INVALID', message: expect.stringMatching(words) as string }),
    );
  });

  it.each<[glob: string, matching: readonly string[], other: readonly string[]]>([
    ['a.ts', ['a.ts', 'b/a.ts'], ['axts']],
    ['src/**/*.ts', ['src/a/b.ts', 'src/b.ts'], ['src/b.tsx', 'x/src/b.ts']],
    ['*.{ts,tsx}', ['a.ts', 'b/a.tsx'], ['a.js', 'a.{ts,tsx}']],
    ['{src,test}/**/*.{c,h}pp', ['src/a/b.cpp', 'test/b.hpp'], ['lib/b.cpp', 'src/b.c', 'src,test/b.cpp']],
    ['a{,.test}.ts', ['a.ts', 'a.test.ts'], ['a,.test.ts']],
    ['{**/,}b{?,*.c}', ['x/b1', 'b.c'], ['b12']],
    ['{a.b|c,(d)}', ['a.b|c', '(d)'], ['axb|c', 'd', 'c']],
    ['[a](b){1}', ['[a](b){1}'], ['ab']],
    ['{a}{b,c', ['{a}{b,c'], ['ab', 'ac']],
    ['{x{a,b}}', ['{xa}', '{xb}'], ['xa', 'x{a,b}']],
    ['{a,b}'.repeat(50), ['ab'.repeat(25)], ['ab'.repeat(24)]],
    ['{'.repeat(256), ['{'.repeat(256)], ['']],
  ])('of a file name takes wildcards and alternatives, and other signs as they are: %s', (glob, matching, other) => {
    const matches = globPattern(glob);
    expect(matching.filter((path) => !matches(path))).toEqual([]);
    expect(other.filter(matches)).toEqual([]);
  });
});
