import { execFileSync, spawnSync } from 'node:child_process';
import { createHash, randomBytes } from 'node:crypto';
import { mkdir, mkdtemp, readdir, readFile, realpath, rm, stat, symlink, writeFile } from 'node:fs/promises';
import { tmpdir } from 'node:os';
import { dirname, join } from 'node:path';
import type { PatchRequest } from '@agentfleet/protocol/keeper';
import * as fc from 'fast-check';
import { afterEach, beforeEach, describe, expect, it } from 'vitest';
import { ulid } from '../../testing/index.ts';
import { applyPatch, parsePatch, PatchJournal } from './index.ts';

let dir: string;
let root: string;
let journal: PatchJournal;

beforeEach(async () => {
  dir = await realpath(await mkdtemp(join(tmpdir(), 'patch-')));
  root = join(dir, 'workspace');
  await mkdir(root);
  journal = await PatchJournal.open(join(dir, 'store'));
});

afterEach(() => rm(dir, { recursive: true, force: true }));

const rules = {
  random: randomBytes,
  admit: () => Promise.resolve(),
  checkSyntax: () => Promise.resolve('Skipped' as const),
  timeIsLeft: () => true,
  assertMayWrite: () => undefined,
  record: () => Promise.resolve(),
};
const patch = (diff: string, more: Partial<PatchRequest> = {}) =>
  applyPatch([root], parsePatch({ requestId: ulid(), path: root, diff, ...more }), journal, rules);
const put = async (name: string, content: string | Buffer): Promise<void> => {
  await mkdir(dirname(join(root, name)), { recursive: true });
  await writeFile(join(root, name), content);
};
const read = (name: string): Promise<string> => readFile(join(root, name), 'latin1');
const refused = (diff: string, code: string, words: RegExp, more: Partial<PatchRequest> = {}) =>
  expect((async () => patch(diff, more))()).rejects.toMatchObject({ code, message: expect.stringMatching(words) as string });
const sha = (text: string): string => createHash('sha256').update(text).digest('hex');
const listing = (): string =>
  execFileSync('find', ['.', '-printf', '%p %m %s\\n'], { cwd: root, encoding: 'latin1' }).split('\n').sort().join('\n');

const header = (name: string): string => `--- a/${name}\n+++ b/${name}\n`;

describe('a patch', () => {
  it('changes, makes, deletes and renames files in one act', async () => {
    await put('src/a', 'one\ntwo\nthree\n');
    await put('gone', 'x\n');
    await put('old name', 'keep\nlast');
    await put('tool', '#!/bin/sh\n');
    const diff = [
      'diff --git a/src/a b/src/a',
      'index 1..2 100644',
      '--- a/src/a',
      '+++ b/src/a',
      '@@ -1,3 +1,3 @@ heading',
      ' one',
      '-two',
      '+2',
      ' three',
      'diff --git a/gone b/gone',
      'deleted file mode 100644',
      '--- a/gone',
      '+++ /dev/null',
      '@@ -1 +0,0 @@',
      '-x',
      'diff --git a/deep/new b/deep/new',
      'new file mode 100755',
      '--- /dev/null',
      '+++ b/deep/new',
      '@@ -0,0 +1 @@',
      '+new',
      '\\ No newline at end of file',
      'diff --git a/old name b/sub/new name',
      'similarity index 80%',
      'rename from old name',
      'rename to sub/new name',
      '--- a/old name',
      '+++ b/sub/new name',
      '@@ -1,2 +1,2 @@',
      ' keep',
      '-last',
      '\\ No newline at end of file',
      '+last',
      'diff --git a/tool b/tool',
      'old mode 100644',
      'new mode 100755',
      'diff --git a/empty b/empty',
      'new file mode 100644',
      'index 0000000..e69de29',
    ].join('\n');
    const report = await patch(`${diff}\n`);
    expect(report.files.map(({ syntax: _syntax, ...file }) => file)).toEqual([
      { path: 'src/a', op: 'M', sha256: sha('one\n2\nthree\n'), bytes: 12, mode: 0o644, offsets: [] },
      { path: 'gone', op: 'D', sha256: null, bytes: 0, mode: 0o644, offsets: [] },
      { path: 'deep/new', op: 'A', sha256: sha('new'), bytes: 3, mode: 0o755, offsets: [] },
      { path: 'sub/new name', op: 'R', from: 'old name', sha256: sha('keep\nlast\n'), bytes: 10, mode: 0o644, offsets: [] },
      { path: 'tool', op: 'M', sha256: sha('#!/bin/sh\n'), bytes: 10, mode: 0o755, offsets: [] },
      { path: 'empty', op: 'A', sha256: sha(''), bytes: 0, mode: 0o644, offsets: [] },
    ]);
    expect(execFileSync('find', ['.', '-type', 'f'], { cwd: root, encoding: 'utf8' }).trim().split('\n').sort()).toEqual([
      './deep/new',
      './empty',
      './src/a',
      './sub/new name',
      './tool',
    ]);
    expect((await stat(join(root, 'deep/new'))).mode & 0o777).toBe(0o755);
    expect((await stat(join(root, 'tool'))).mode & 0o777).toBe(0o755);
  });

  it('gives the same result as git for any two trees', async () => {
    const line = fc.constantFrom('a\n', 'b\n', 'c\r\n', '\n', 'ü d\n', '\tx\n', '-- y\n', '++ z\n');
    const content = fc.tuple(fc.array(line, { maxLength: 12 }), fc.constantFrom('', 'end')).map(([lines, end]) => lines.join('') + end);
    const name = fc.constantFrom('f', 'g', 'd/h', 'd/e/i', 'with space', 'ümlaut', 'quote"d');
    const tree = fc.dictionary(name, content, { maxKeys: 5 });
    await fc.assert(
      fc.asyncProperty(tree, tree, async (from, to) => {
        await rm(root, { recursive: true, force: true });
        await mkdir(root);
        const [a, b] = [join(dir, 'a'), join(dir, 'b')];
        for (const [folder, files] of [
          [a, from],
          [b, to],
          [root, from],
        ] as const) {
          await rm(folder, { recursive: true, force: true });
          await mkdir(folder);
          for (const [each, text] of Object.entries(files)) {
            await mkdir(dirname(join(folder, each)), { recursive: true });
            await writeFile(join(folder, each), text);
          }
        }
        const { stdout } = spawnSync('git', ['diff', '--no-index', '-M', '--no-prefix', 'a', 'b'], { cwd: dir });
        if (stdout.length === 0) return;
        await patch(stdout.toString('utf8').replaceAll(/^(rename (?:from|to) "?)[ab]\//gm, '$1'));
        for (const [each, text] of Object.entries(to)) expect(await readFile(join(root, each), 'utf8')).toBe(text);
        const left = (await readdir(root, { recursive: true, withFileTypes: true })).filter((entry) => entry.isFile());
        expect(left).toHaveLength(Object.keys(to).length);
      }),
      { numRuns: 60 },
    );
  });

  it('keeps line ends and bytes that are no text', async () => {
    await put('f', Buffer.from('a\r\n\xff\xfe\r\nb', 'latin1'));
    await patch(`${header('f')}@@ -1 +1 @@\n-a\r\n+A\r\n`);
    expect(await read('f')).toBe('A\r\n\xff\xfe\r\nb');
  });

  it('reports which hunk was found elsewhere, and uses only a unique place', async () => {
    await put('f', '1\n2\nx\ny\n3\n');
    const hunk = '@@ -1,2 +1,2 @@\n x\n-y\n+Y\n';
    expect((await patch(header('f') + hunk)).files[0]?.offsets).toEqual([{ hunk: 1, lines: 2 }]);
    await put('f', 'x\nz\nx\ny\n3\nx\ny\n');
    await refused(
      header('f') + hunk,
      'AF_PATCH_REJECTED',
      /^f: hunk 1 \(line 3 of the diff\).*line 2 of the file is "z", the hunk has "y"; it fits at several/,
    );
    await refused(header('f') + hunk.replace(' x', ' q'), 'AF_PATCH_REJECTED', /line 1 of the file is "x", the hunk has "q"$/);
  });

  it('as a dry run reports the same and changes nothing', async () => {
    await put('f', 'a\n');
    const before = listing();
    const diff = `${header('f')}@@ -1 +1 @@\n-a\n+b\n--- /dev/null\n+++ b/d/n\n@@ -0,0 +1 @@\n+n\n`;
    const dry = await patch(diff, { dryRun: true });
    expect(dry.applied).toBe(false);
    expect(listing()).toBe(before);
    expect(await readdir(join(dir, 'store'))).toEqual([]);
    expect((await patch(diff)).files).toEqual(dry.files);
  });

  it('is held to expected contents', async () => {
    await put('f', 'a\n');
    const diff = `${header('f')}@@ -1 +1 @@\n-a\n+b\n--- /dev/null\n+++ b/n\n@@ -0,0 +1 @@\n+n\n`;
    await refused(diff, 'AF_EDIT_STALE', /^f has the SHA-256/, { expected: { f: sha('other') } });
    await refused(diff, 'AF_EDIT_STALE', /^n is not there/, { expected: { n: sha('other') } });
    await refused(diff, 'AF_INVALID', /does not name other/, { expected: { other: null } });
    await patch(diff, { expected: { f: sha('a\n'), n: null } });
    expect(await read('f')).toBe('b\n');
  });
});

describe('a patch that fails changes nothing', () => {
  const second = '@@ -1 +1 @@\n-a\n+b\n';

  it.each<[string, string, RegExp]>([
    ['a hunk of the second file does not fit', `${header('f')}${second}${header('g')}${second}`, /^g: hunk 1 .*line 1 of the file is "g"/],
    ['a file is missing', `${header('f')}${second}${header('none')}${second}`, /^none: there is no such file/],
    ['a new file is there', `--- /dev/null\n+++ b/f\n@@ -0,0 +1 @@\n+n\n`, /^f: it is there already/],
    ['a file to delete holds more', `--- a/two\n+++ /dev/null\n@@ -1 +0,0 @@\n-1\n`, /^two: it is to be deleted and holds more/],
    ['a folder is taken for a file', `${header('sub')}${second}`, /^sub: it is not a regular file/],
    ['a file is taken for a folder', `${header('f/x')}${second}`, /^f\/x: .* is not a folder/],
    ['a link is patched', `${header('link')}${second}`, /^link: it is not a regular file/],
    ['a name leads through a link', `${header('out/secret')}${second}`, /^out\/secret: it leads through the symbolic link/],
    ['even one that stays inside', `${header('in/file')}${second}`, /through the symbolic link/],
    ['a hunk goes behind the end', `${header('f')}@@ -9,0 +10 @@\n+x\n`, /the file has 1 lines, it goes after line 9/],
    ['a line would be glued to another', `${header('torn')}@@ -1,0 +2 @@\n+x\n`, /without a newline would stand in the middle/],
    ['the end lacks the newline that the hunk has', `${header('torn')}@@ -1 +1 @@\n-t\n+u\n`, /is "t" without a newline, the hunk has "t"/],
  ])('when %s', async (_what, diff, words) => {
    await put('f', 'a\n');
    await put('g', 'g\n');
    await put('two', '1\n2\n');
    await put('torn', 't');
    await put('sub/file', 'a\n');
    await writeFile(join(dir, 'secret'), 'a\n');
    await symlink('f', join(root, 'link'));
    await symlink(dir, join(root, 'out'));
    await symlink('sub', join(root, 'in'));
    const before = listing();
    await refused(diff, 'AF_PATCH_REJECTED', words);
    expect(listing()).toBe(before);
    expect(await readFile(join(dir, 'secret'), 'utf8')).toBe('a\n');
  });

  it('when the system refuses one of its last acts', async () => {
    await put('f', 'a\n');
    await put('gone', 'x\n');
    const before = listing();
    const made = (name: string): string => `--- /dev/null\n+++ b/${name}\n@@ -0,0 +1 @@\n+n\n`;
    const gone = '--- a/gone\n+++ /dev/null\n@@ -1 +0,0 @@\n-x\n';
    // One name as a folder and as a file: only the disk refuses it, when all the others are written.
    await refused(`${header('f')}${second}${gone}${made('n/m')}${made('n')}`, 'AF_PATCH_REJECTED', /the system refuses it/);
    expect(listing()).toBe(before);
    expect(await readdir(join(dir, 'store'))).toEqual([]);
  });

  it('when the folder is outside of the roots', async () => {
    await refused(`${header('f')}${second}`, 'AF_PATH_OUTSIDE_ROOTS', /not inside/, { path: '/etc' });
    await symlink('/etc', join(root, 'etc'));
    await refused(`${header('passwd')}${second}`, 'AF_PATH_OUTSIDE_ROOTS', /outside the roots/, { path: join(root, 'etc') });
    await refused(`${header('f')}${second}`, 'AF_FILE_NOT_FOUND', /there is no folder/, { path: join(root, 'none') });
  });
});

describe('a diff', () => {
  it('without prefixes is taken with strip 0', async () => {
    await put('f', 'a\n');
    await patch('--- f\t2026-01-01\n+++ f\t2026-01-01\n@@ -1 +1 @@\n-a\n+b\n', { strip: 0 });
    expect(await read('f')).toBe('b\n');
  });

  it('of random pieces is applied or refused with a code, never half', async () => {
    await put('f', 'a\nb\n');
    const piece = fc.constantFrom(
      '--- a/f',
      '+++ b/f',
      '@@ -1 +1 @@',
      '@@ -1,2 +1,2 @@',
      ' a',
      '-a',
      '+c',
      ' b',
      '',
      '\\ No newline',
      'rename from f',
      'rename to g',
      'diff --git a/f b/f',
      'deleted file mode 100644',
      '--- /dev/null',
      '+++ /dev/null',
      '+++ b/h',
    );
    await fc.assert(
      fc.asyncProperty(fc.array(piece, { minLength: 1, maxLength: 14 }), async (pieces) => {
        await rm(root, { recursive: true, force: true });
        await put('f', 'a\nb\n');
        const before = listing();
        const outcome = await (async () => patch(pieces.join('\n')))().catch((error: unknown) => error);
        if (!(outcome instanceof Error)) return;
        expect((outcome as { code?: string }).code).toMatch(/^AF_(PATCH_|INVALID)/);
        expect(listing()).toBe(before);
      }),
      { numRuns: 150 },
    );
  });
});
