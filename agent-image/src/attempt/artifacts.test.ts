import { expect, test } from 'vitest';
import { shownPatch } from './artifacts.ts';

const file = (path: string, line = 'x'): string =>
  `diff --git a/${path} b/${path}\n--- a/${path}\n+++ b/${path}\n@@ -1,1 +1,1 @@\n-a\n+${line}\n`;

test('the status shows what was written before what git keeps, of nested repositories too', () => {
  const [log, own, nested, code] = ['workspace/.git/logs/HEAD', 'workspace/a.py', 'workspace/lib/.git/index', 'workspace/z.py'].map(
    (path) => file(path),
  );
  expect(shownPatch([log, own, nested, code].join(''))).toBe([own, code, log, nested].join(''));
  expect(shownPatch(file('workspace/.gitignore') + file('workspace/a.git/x'))).toBe(
    file('workspace/.gitignore') + file('workspace/a.git/x'),
  );
});

test('a long patch is cut at the end of a line, with what was written whole', () => {
  const git = file('workspace/.git/objects/aa', 'y'.repeat(4000));
  const shown = shownPatch(git + file('workspace/a.py', 'the repair'));
  expect(shown).toContain('+the repair');
  expect(shown).toMatch(/^diff --git a\/workspace\/a\.py/);
  expect(shown).toContain('cut; the whole is the artifact change.patch');
  expect(shownPatch('')).toBe('');
});
