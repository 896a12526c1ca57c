import { expect, test } from 'vitest';
import { trim } from '../report/shape.ts';
import { shownPatch } from './artifacts.ts';

const file = (path: string, line = 'x'): string =>
  `diff --git a/${path} b/${path}\n--- a/${path}\n+++ b/${path}\n@@ -1,1 +1,1 @@\n-a\n+${line}\n`;

test('a long patch is cut at the end of a line, with what was written whole', () => {
  const git = file('workspace/.git/objects/aa', 'y'.repeat(4000));
  const patch = shownPatch(git + file('workspace/a.py', 'the repair') + file('workspace/b.py', 'z'.repeat(400_000)));
  expect(patch.length).toBeLessThan(40_000);
  const shown = trim({ attempt: 1, epoch: 1, patch }).patch;
  expect(shown).toContain('+the repair');
  expect(shown).toMatch(/^# not in this patch[^\n]*\ndiff --git a\/a\.py/);
  expect(shown).toContain('cut; the whole is the artifact change.patch');
  expect(shownPatch('')).toBe('');
});
