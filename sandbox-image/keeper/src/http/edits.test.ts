import { readFile, writeFile } from 'node:fs/promises';
import { join } from 'node:path';
import type { AuditRecord } from '@agentfleet/protocol/keeper';
import { afterEach, beforeEach, describe, expect, it } from 'vitest';
import { startHarness, type Harness } from '../testing/index.ts';

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

  it('waits for nobody, and nobody writes beside it', async () => {
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
