import { execFileSync } from 'node:child_process';
import { randomBytes } from 'node:crypto';
import { mkdir, mkdtemp, realpath, rm, writeFile } from 'node:fs/promises';
import { tmpdir } from 'node:os';
import { join } from 'node:path';
import { afterEach, beforeEach, describe, expect, it } from 'vitest';
import { ulid } from '../../testing/index.ts';
import { actsOf, stepsOf, undo } from './patches.ts';
import { parsePatch } from './index.ts';
import { planPatch } from './plan.ts';

let root: string;

beforeEach(async () => {
  root = await realpath(await mkdtemp(join(tmpdir(), 'commit-')));
});

afterEach(() => rm(root, { recursive: true, force: true }));

const listing = (): string =>
  execFileSync('find', ['.', '-printf', '%p %m %s\\n'], { cwd: root, encoding: 'latin1' }).split('\n').sort().join('\n');

describe('a crash', () => {
  const diff = [
    ['--- a/f', '+++ b/f', '@@ -1 +1 @@', '-a', '+b'],
    ['--- a/gone', '+++ /dev/null', '@@ -1 +0,0 @@', '-x'],
    ['--- /dev/null', '+++ b/d/e/new', '@@ -0,0 +1 @@', '+n'],
    ['diff --git a/from b/g/to', 'rename from from', 'rename to g/to'],
  ]
    .flat()
    .join('\n');

  it('between any two acts is undone, also when the undoing is cut off, and leaves no files', async () => {
    for (let done = 0, all = 1; done <= all; done++) {
      await rm(root, { recursive: true, force: true });
      await mkdir(root);
      for (const [name, content] of [
        ['f', 'a\n'],
        ['gone', 'x\n'],
        ['from', 'r\n'],
      ] as const)
        await writeFile(join(root, name), content);
      const before = listing();
      const changes = await planPatch(root, parsePatch({ requestId: ulid(), path: root, diff }).sections, undefined);
      const record = { steps: stepsOf(changes, randomBytes), folders: changes.flatMap(({ fresh }) => fresh?.folders ?? []) };
      const acts = actsOf(changes, record);
      all = acts.length;
      for (const act of acts.slice(0, done)) await act();
      await undo({ steps: record.steps.slice(done % 4), folders: [] });
      await undo(record);
      expect(listing(), `after ${done} of ${all} acts`).toBe(before);
      await undo(record);
      expect(listing()).toBe(before);
    }
  });
});
