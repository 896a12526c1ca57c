import { describe, expect, it } from 'vitest';
import { ulid } from '../../testing/index.ts';
import { parsePatch } from './index.ts';

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
  ])('%s is refused, with the place', (_what, diff, words) => {
    const refusal = expect.objectContaining({ code: 'AF_PATCH_INVALID', message: expect.stringMatching(words) as string }) as Error;
    expect(() => parsePatch({ requestId: ulid(), path: '/workspace', diff })).toThrow(refusal);
  });
});
