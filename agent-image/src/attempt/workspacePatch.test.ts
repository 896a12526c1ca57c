import { execFileSync } from 'node:child_process';
import { mkdirSync, mkdtempSync, readFileSync, rmSync, writeFileSync } from 'node:fs';
import { tmpdir } from 'node:os';
import { join } from 'node:path';
import { expect, test } from 'vitest';
import { workspacePatch } from './artifacts.ts';

const changed = (path: string): string => `diff --git a/${path} b/${path}\n--- a/${path}\n+++ b/${path}\n@@ -1 +1 @@\n-a\n+b\n`;
const made = (path: string): string =>
  `diff --git a/${path} b/${path}\nnew file mode 100755\n--- /dev/null\n+++ b/${path}\n@@ -0,0 +1 @@\n+diff --git a/workspace/x b/workspace/x\n`;
const quoted =
  'diff --git "a/workspace/\\303\\251" "b/workspace/\\303\\251"\n--- "a/workspace/\\303\\251"\n+++ "b/workspace/\\303\\251"\n@@ -1 +1 @@\n-a\n+b\n';
const spaced =
  'diff --git a/workspace/b/workspace/x y b/workspace/b/workspace/x y\n--- a/workspace/b/workspace/x y\t\n+++ b/workspace/b/workspace/x y\t\n@@ -1 +1 @@\n-a\n+b\n';
const binary = 'diff --git a/workspace/i.png b/workspace/i.png\nBinary files a/workspace/i.png and b/workspace/i.png differ\n';

test('git applies the patch of a task at the root of its repository; what it cannot hold is named', () => {
  const patch = workspacePatch(
    [
      changed('workspace/src/a.py'),
      made('workspace/run.sh'),
      quoted,
      spaced,
      binary,
      changed('home/.profile'),
      ...['HEAD', 'index', 'logs/HEAD', 'ORIG_HEAD'].map((name) => changed(`workspace/.git/${name}`)),
    ].join(''),
  );
  expect(patch.split('\n').filter((line) => line.startsWith('#'))).toEqual([
    '# not in this patch (binary or long), but in revert.tar: workspace/i.png',
    '# not in this patch (outside of the workspace), but in revert.tar: home/.profile',
    "# not in this patch (git's own), but in revert.tar: workspace/.git/HEAD, workspace/.git/index, workspace/.git/logs/HEAD and 1 more",
  ]);
  const root = mkdtempSync(join(tmpdir(), 'patch-'));
  try {
    for (const folder of ['src', 'b/workspace']) mkdirSync(join(root, folder), { recursive: true });
    for (const path of ['src/a.py', 'é', 'b/workspace/x y']) writeFileSync(join(root, path), 'a\n');
    execFileSync('git', ['init', '-q', root]);
    execFileSync('git', ['apply', '-'], { cwd: root, input: patch });
    for (const path of ['src/a.py', 'é', 'b/workspace/x y']) expect(readFileSync(join(root, path), 'utf8')).toBe('b\n');
    expect(readFileSync(join(root, 'run.sh'), 'utf8')).toBe('diff --git a/workspace/x b/workspace/x\n');
  } finally {
    rmSync(root, { recursive: true });
  }
});

test('what the keeper writes around its sections stays', () => {
  expect(workspacePatch('')).toBe('');
  expect(workspacePatch(`${changed('workspace/a')}# cut at 10 bytes\n`)).toMatch(/^\+b\n# cut at 10 bytes\n/m);
});

test('what the checks or a build make is named, and not in the patch', () => {
  const unified = changed('workspace/src/a.rs') + ['a', 'b', 'c', 'd'].map((name) => changed(`workspace/target/${name}.d`)).join('');
  expect(workspacePatch(unified, (path) => path.startsWith('target/'))).toBe(
    `# not in this patch (made by the checks or a build), but in revert.tar: workspace/target/a.d, workspace/target/b.d, workspace/target/c.d and 1 more\n${changed('workspace/src/a.rs').replaceAll('workspace/', '')}`,
  );
});
