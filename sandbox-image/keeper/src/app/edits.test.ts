import { readdir, readFile, rename, writeFile } from 'node:fs/promises';
import { join } from 'node:path';
import type { AuditRecord } from '@agentfleet/protocol/keeper';
import { afterEach, beforeEach, describe, expect, it } from 'vitest';
import { systemClock } from '../base/clock.ts';
import { startHarness, ulid, type Harness } from '../testing/index.ts';

let h: Harness;
let file: string;

beforeEach(async () => {
  h = await startHarness();
  file = join(h.workspace, 'file');
  await writeFile(file, 'one\ntwo\n');
});

afterEach(() => h[Symbol.asyncDispose]());

async function recordsOf(type: AuditRecord['type']): Promise<readonly AuditRecord['body'][]> {
  const bodies: AuditRecord['body'][] = [];
  for await (const record of h.client().events(1)) if (record.type === type) bodies.push(record.body);
  return bodies;
}

describe('POST /v1/files/replace', () => {
  it('replaces, and records the content before and after', async () => {
    const answer = await h.client().replaceInFile({ path: file, old: 'two', new: '2' });
    expect(answer).toMatchObject({ path: file, bytes: 6, created: false, line: 2 });
    expect(await recordsOf('FileWritten')).toEqual([{ ...answer, how: 'Replace' }]);
    const again = h.client().replaceInFile({ path: file, old: '2', new: 'x', expectedSha256: answer.previousSha256 });
    await expect(again).rejects.toMatchObject({ code: 'AF_EDIT_STALE', status: 409 });
    expect(await recordsOf('FileWritten')).toHaveLength(1);
  });

  it('does not wait, and excludes other writers', async () => {
    const release = h.running.keeper.parts.gate.shared({ kind: 'file transfer', name: 'x' });
    await expect(h.client().replaceInFile({ path: file, old: 'two', new: '2' })).rejects.toMatchObject({ code: 'AF_BUSY' });
    release();
    await h.client().replaceInFile({ path: file, old: 'two', new: '2' });
    expect(await readFile(file, 'utf8')).toBe('one\n2\n');
  });

  it('keeps to the quota and to the newest assignment', async () => {
    await h.client(2).replaceInFile({ path: file, old: 'two', new: '2' });
    await expect(h.client(1).replaceInFile({ path: file, old: 'one', new: '1' })).rejects.toMatchObject({ code: 'AF_EPOCH_STALE' });
    await expect(h.client(2).replaceInFile({ path: file, old: '', new: '1' })).rejects.toMatchObject({ code: 'AF_INVALID' });
  });
});

describe('POST /v1/files/patch', () => {
  const diff = '--- a/file\n+++ b/file\n@@ -1,2 +1,2 @@\n one\n-two\n+2\n--- /dev/null\n+++ b/new\n@@ -0,0 +1 @@\n+n\n';
  const request = () => ({ requestId: ulid(), path: h.workspace, diff });

  it('applies once, however often it is asked, and records intent and end', async () => {
    const asked = request();
    const report = await h.client().applyPatch(asked);
    expect(report).toMatchObject({
      applied: true,
      path: h.workspace,
      files: [
        { path: 'file', op: 'M' },
        { path: 'new', op: 'A' },
      ],
    });
    expect(await h.client().applyPatch(asked)).toEqual(report);
    await expect(h.client().applyPatch({ ...asked, expected: {} })).rejects.toMatchObject({ code: 'AF_REQUEST_ID_REUSED', status: 409 });
    expect(await readFile(file, 'utf8')).toBe('one\n2\n');
    expect((await readdir(h.workspace)).sort()).toEqual(['file', 'new']);
    expect(await recordsOf('PatchApplied')).toMatchObject([
      { requestId: asked.requestId, phase: 'Intent', files: report.files },
      { requestId: asked.requestId, phase: 'Done' },
    ]);
    await h.stop();
    await h.start();
    expect(await h.client().applyPatch(asked), 'after a restart').toEqual(report);
    expect(await recordsOf('PatchApplied')).toHaveLength(2);
  });

  it('has its time for checks of syntax, though the wall clock is put forward', async () => {
    let ahead = 0;
    await using stepped = await startHarness({ clock: { ...systemClock, now: () => Date.now() + (ahead += 11_000) } });
    const added = '--- /dev/null\n+++ b/a.py\n@@ -0,0 +1 @@\n+x = 1\n';
    const { files } = await stepped.client().applyPatch({ requestId: ulid(), path: stepped.workspace, diff: added });
    expect(files).toMatchObject([{ path: 'a.py', syntax: 'Checked' }]);
  });

  it('that is refused takes no id and leaves no record', async () => {
    const asked = request();
    await writeFile(file, 'other\n');
    await expect(h.client().applyPatch(asked)).rejects.toMatchObject({ code: 'AF_PATCH_REJECTED', status: 409 });
    expect(
      await h
        .client()
        .applyPatch({ ...asked, dryRun: true })
        .catch((error: unknown) => error),
    ).toMatchObject({ code: 'AF_PATCH_REJECTED' });
    expect(await recordsOf('PatchApplied')).toEqual([]);
    await writeFile(file, 'one\ntwo\n');
    expect(await h.client().applyPatch(asked)).toMatchObject({ applied: true });
  });

  it('keeps to the gate, the quota and the newest assignment', async () => {
    const release = h.running.keeper.parts.gate.exclusive({ kind: 'command', name: 'x' });
    await expect(h.client().applyPatch(request())).rejects.toMatchObject({ code: 'AF_BUSY' });
    release();
    await h.client(2).info();
    await h.client(2).note('Newer', {});
    await expect(h.client(1).applyPatch(request())).rejects.toMatchObject({ code: 'AF_EPOCH_STALE' });
    expect(await readFile(file, 'utf8')).toBe('one\ntwo\n');
  });

  it.each(['Applying', 'Committed'] as const)('that a crash cut off is whole or not at all after the restart: %s', async (state) => {
    const asked = request();
    const kept = join(h.workspace, '.agentfleet-kept.tmp');
    await rename(file, kept);
    await writeFile(file, 'one\n2\n');
    const step = { old: file, kept, staged: join(h.workspace, '.agentfleet-staged.tmp'), target: file };
    const report = { requestId: asked.requestId, path: h.workspace, applied: true, files: [] };
    const { patches } = h.running.keeper.parts;
    await patches.write({ requestId: asked.requestId, requestDigest: 'x', state, steps: [step], folders: [], report });
    await h.stop();
    await h.start();
    expect(await readFile(file, 'utf8')).toBe(state === 'Applying' ? 'one\ntwo\n' : 'one\n2\n');
    expect(await readdir(h.workspace)).toEqual(['file']);
    const phase = state === 'Applying' ? 'RolledBack' : 'Done';
    expect(await recordsOf('PatchApplied')).toEqual([{ requestId: asked.requestId, phase, why: 'KeeperRestarted' }]);
    expect(await patches.find(asked.requestId)).toEqual(
      state === 'Applying' ? null : expect.objectContaining({ state: 'Done', steps: [] }),
    );
  });

  it.each([
    ['empty', ''],
    ['zeros', '\0'.repeat(300)],
    ['cut', '{"requestId":"'],
    ['something else', 'null'],
  ])('whose record a loss of power left %s never began, and the keeper starts', async (_, text) => {
    const asked = request();
    await h.stop();
    await writeFile(join(h.store, 'patches', `${asked.requestId}.json`), text);
    await h.start();
    expect(await recordsOf('PatchApplied')).toEqual([{ requestId: asked.requestId, phase: 'NeverBegan', why: 'RecordUnreadable' }]);
    expect(await readFile(file, 'utf8')).toBe('one\ntwo\n');
    expect(await h.client().applyPatch(asked)).toMatchObject({ applied: true });
    await h.stop();
    await h.start();
    expect(await h.client().applyPatch(asked)).toMatchObject({ applied: true });
    expect(await recordsOf('PatchApplied')).toHaveLength(3);
  });
});
