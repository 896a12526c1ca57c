import { execFileSync } from 'node:child_process';
import { randomBytes } from 'node:crypto';
import { mkdir, mkdtemp, readFile, realpath, rm, writeFile } from 'node:fs/promises';
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
const listing = (): string =>
  execFileSync('find', ['.', '-printf', '%p %m %s\\n'], { cwd: root, encoding: 'latin1' }).split('\n').sort().join('\n');

const header = (name: string): string => `--- a/${name}\n+++ b/${name}\n`;

describe('a diff', () => {
  it.each<[string, string, RegExp]>([
    ['with nothing in it', '\n', /^line 1 of the diff: "" is neither/],
    ['with words before it', `Here it is:\n${header('f')}`, /^line 1 of the diff: "Here it is:"/],
    ['with words after a hunk', `${header('f')}@@ -1 +1 @@\n-a\n+b\nDone.\n`, /^line 6 of the diff: "Done."/],
    [
      'with fewer lines than it says',
      `${header('f')}@@ -1,2 +1,2 @@\n-a\n+b\n`,
      /^line 6 of the diff: .* ends in the middle of the hunk of line 3/,
    ],
    ['with more lines than it says', `${header('f')}@@ -1 +1,2 @@\n a\n c\n`, /^line 3 of the diff: the hunk has 2 old and 2 new lines/],
    ['with a bad line in a hunk', `${header('f')}@@ -1 +1 @@\nx\n`, /^line 4 of the diff: a line of a hunk begins/],
    ['with a bad hunk header', `${header('f')}@@ -1 @@\n a\n`, /^line 3 of the diff: the header/],
    ['that climbs', `${header('../f')}@@ -1 +1 @@\n-a\n+b\n`, /contains "", "." or ".."/],
    ['that climbs in quotes', '--- "a/\\056\\056/f"\n+++ "b/\\056\\056/f"\n@@ -1 +1 @@\n-a\n+b\n', /contains "", "." or ".."/],
    ['that is absolute', `--- a//etc/f\n+++ b//etc/f\n@@ -1 +1 @@\n-a\n+b\n`, /is absolute/],
    ['with a NUL in a name', '--- "a/f\\000"\n+++ "b/f\\000"\n@@ -1 +1 @@\n-a\n+b\n', /NUL/],
    ['without the prefix', `--- f\n+++ f\n@@ -1 +1 @@\n-a\n+b\n`, /leading components to strip; set strip/],
    [
      'with a link',
      'diff --git a/l b/l\nnew file mode 120000\n--- /dev/null\n+++ b/l\n@@ -0,0 +1 @@\n+/etc\n',
      /the mode 120000 is not taken/,
    ],
    ['with a submodule', 'diff --git a/l b/l\nnew file mode 160000\n', /the mode 160000/],
    ['with binary content', 'diff --git a/l b/l\nGIT binary patch\n', /binary patches are not taken/],
    ['with a copy', 'diff --git a/l b/m\ncopy from l\ncopy to m\n', /copies are not taken/],
    ['that names a file twice', `${header('f')}@@ -1 +1 @@\n-a\n+b\n`.repeat(2), /^line 6 of the diff: f is named twice/],
    ['with two names and no rename', '--- a/f\n+++ b/g\n@@ -1 +1 @@\n-a\n+b\n', /two names and no rename/],
    ['that renames half', 'diff --git a/f b/g\nrename from f\n', /renamed on one side/],
    ['that changes nothing', 'diff --git a/f b/f\n', /changes nothing/],
  ])('%s is refused, with the place', async (_what, diff, words) => {
    await put('f', 'a\n');
    await refused(diff, 'AF_PATCH_INVALID', words);
    expect(await read('f')).toBe('a\n');
  });

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
