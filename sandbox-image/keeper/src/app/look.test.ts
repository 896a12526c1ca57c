import { writeFile } from 'node:fs/promises';
import { join } from 'node:path';
import { afterEach, beforeEach, describe, expect, it } from 'vitest';
import { startHarness, type Harness } from '../testing/index.ts';

let h: Harness;
let file: string;

beforeEach(async () => {
  h = await startHarness();
  file = join(h.workspace, 'file');
  await writeFile(file, 'one\ntwo & three\n');
});

afterEach(() => h[Symbol.asyncDispose]());

describe('reading the roots', () => {
  it('lists, reads lines and searches', async () => {
    const client = h.client();
    expect((await client.listFiles(h.workspace)).entries).toMatchObject([{ path: 'file', bytes: 16 }]);
    expect(await client.readLines(file, 2, 2)).toMatchObject({ text: 'two & three\n', lines: 2 });
    expect((await client.searchFiles({ path: h.workspace, regex: 't.o\\s&' })).matches).toMatchObject([{ path: 'file', line: 2 }]);
  });

  it('preloads the syntax check for a source that was read', async () => {
    const { syntax } = h.running.keeper.parts;
    await h.client().readLines(file, 1, 1);
    expect(syntax.running).toBe(false);
    const source = join(h.workspace, 'a.py');
    await writeFile(source, 'x = 1\n');
    await h.client().readLines(source, 1, 1);
    expect(syntax.running).toBe(true);
  });

  it('releases the gate, also after a refusal', async () => {
    const client = h.client();
    await expect(client.searchFiles({ path: h.workspace, regex: '(' })).rejects.toMatchObject({ code: 'AF_INVALID' });
    await expect(client.searchFiles({ path: h.workspace })).rejects.toMatchObject({
      message: expect.stringContaining('one of them') as string,
    });
    await expect(client.listFiles('/etc')).rejects.toMatchObject({ code: 'AF_PATH_OUTSIDE_ROOTS', status: 403 });
    await expect(client.readLines(file, 0)).rejects.toMatchObject({ code: 'AF_INVALID' });
    const release = h.running.keeper.parts.gate.exclusive({ kind: 'command', name: 'x' });
    await expect(client.listFiles(h.workspace)).rejects.toMatchObject({ code: 'AF_BUSY' });
    release();
  });
});
