import { cp, readdir, readFile, rm, writeFile } from 'node:fs/promises';
import { once } from 'node:events';
import { connect, type Socket } from 'node:net';
import { basename, join } from 'node:path';
import { Readable } from 'node:stream';
import type { AuditRecord } from '@agentfleet/protocol/keeper';
import { afterEach, describe, expect, it } from 'vitest';
import { podUid, startHarness, waitUntil, type Harness } from '../testing/index.ts';
import { rawTar } from '../testing/tar.ts';

let h: Harness;

afterEach(() => h[Symbol.asyncDispose]());

const tree = rawTar([
  { name: 'src', type: '5' },
  { name: 'src/main.py', content: 'print(1)\n' },
  { name: 'link', type: '2', link: 'src/main.py' },
]);

async function recordsOf(type: AuditRecord['type'], epoch = 1): Promise<readonly AuditRecord[]> {
  const records: AuditRecord[] = [];
  for await (const record of h.client(epoch).events(1)) if (record.type === type) records.push(record);
  return records;
}

/** Sends the first half of a body in the name of epoch 1, and returns when it is being written. */
async function half(route: string, type: string): Promise<Socket> {
  h = await startHarness();
  const socket = connect(Number(new URL(h.running.address).port), '127.0.0.1').on('error', () => undefined);
  const path = route === 'tree' ? h.workspace : join(h.workspace, 'f');
  const head = [`PUT /v1/${route}?path=${path} HTTP/1.1`, 'host: x', `authorization: Bearer ${await h.signer.token(podUid)}`];
  socket.write([...head, 'agentfleet-epoch: 1', `content-type: ${type}`, 'content-length: 900000', '', ''].join('\r\n'));
  socket.write(rawTar([{ name: 'f', content: Buffer.alloc(100_000) }]).subarray(0, 50_000));
  await waitUntil(async () => (await readdir(h.workspace)).length > 0);
  return socket;
}

describe('PUT /v1/tree', () => {
  it('unpacks bytes and streams into a root or below it, and records the written counts', async () => {
    h = await startHarness();
    const counts = { files: 1, folders: 1, links: 1, bytes: 9 };
    expect(await h.client().writeTree(h.workspace, tree)).toEqual({ path: h.workspace, ...counts });
    const below = join(h.workspace, 'a', 'b');
    expect(await h.client().writeTree(below, Readable.from([tree.subarray(0, 100), tree.subarray(100)]))).toEqual({
      path: below,
      ...counts,
    });
    expect(await readFile(join(below, 'src', 'main.py'), 'utf8')).toBe('print(1)\n');
    const [first, second] = await recordsOf('TreeWritten');
    expect(first?.body).toEqual({ path: h.workspace, ...counts, sha256: expect.stringMatching(/^[0-9a-f]{64}$/) as string });
    expect(second?.body['sha256']).toBe(first?.body['sha256']);
    expect(await (await fetch(`${h.running.address}/metrics`)).text()).toContain('agentfleet_keeper_trees_total{result="ok"} 2');
  });

  it('answers a refusal with the counts written before it, and admits the next one', async () => {
    h = await startHarness();
    const filler = { name: 'f', content: Buffer.alloc(2_000_000) };
    const bad = rawTar([filler, { name: '../escape', content: 'x' }, { ...filler, name: 'g' }]);
    const refusal = await h
      .client()
      .writeTree(h.workspace, bad)
      .catch((error: unknown) => error);
    expect(refusal).toMatchObject({
      code: 'AF_INVALID',
      message: expect.stringContaining('entry ../escape: its name contains ".."; 1 files, 0 folders and 0 links were written') as string,
      cure: expect.stringContaining('restore a snapshot') as string,
    });
    expect((await recordsOf('TreeWritten'))[0]?.body).toMatchObject({
      files: 1,
      sha256: null,
      why: expect.stringContaining('escape') as string,
    });
    expect(await h.client().writeTree(h.workspace, tree)).toMatchObject({ files: 1 });
  });

  it('keeps to the quota of bytes and of paths', async () => {
    h = await startHarness({ env: { AGENTFLEET_WORKSPACE_LIMIT_BYTES: String(1024 * 1024), AGENTFLEET_WORKSPACE_LIMIT_ENTRIES: '100' } });
    const large = rawTar([
      { name: 'ok', content: 'x' },
      { name: 'large', content: Buffer.alloc(2 * 1024 * 1024) },
    ]);
    await expect(h.client().writeTree(h.workspace, large)).rejects.toMatchObject({ code: 'AF_QUOTA_EXCEEDED', status: 507 });
    const many = rawTar(Array.from({ length: 150 }, (_, n) => ({ name: `many/${n}` })));
    await expect(h.client().writeTree(h.workspace, many)).rejects.toMatchObject({ code: 'AF_QUOTA_EXCEEDED' });
    expect((await readdir(join(h.workspace, 'many'))).length).toBeLessThan(100);
    expect(await readdir(h.workspace)).not.toContain('large');
  });

  it('is refused for another media type, outside the roots, and beside any other change of the tree', async () => {
    h = await startHarness();
    await expect(h.client().writeTree('/etc', tree)).rejects.toMatchObject({ code: 'AF_PATH_OUTSIDE_ROOTS' });
    const release = h.running.keeper.parts.gate.shared({ kind: 'file transfer', name: 'x' });
    await expect(h.client().writeTree(h.workspace, tree)).rejects.toMatchObject({ code: 'AF_BUSY' });
    release();
    const sent = await fetch(`${h.running.address}/v1/tree?path=${h.workspace}`, {
      method: 'PUT',
      headers: {
        authorization: `Bearer ${await h.signer.token(podUid)}`,
        'agentfleet-epoch': '1',
        'content-type': 'application/octet-stream',
      },
      body: new Uint8Array(tree),
    });
    expect(sent.status).toBe(400);
    expect(await sent.text()).toContain('it must be application/x-tar');
    expect(await readdir(h.workspace)).toEqual([]);
  });

  it('gives the gate back when the sender leaves in the middle', async () => {
    const socket = await half('tree', 'application/x-tar');
    socket.destroy();
    await waitUntil(async () => (await recordsOf('TreeWritten')).length > 0);
    expect((await recordsOf('TreeWritten'))[0]?.body['why']).toContain('the sender left');
    expect(await readdir(h.workspace)).toEqual([]);
    expect(await h.client().writeTree(h.workspace, tree)).toMatchObject({ files: 1 });
  });
});

describe('a sender that does not go on', () => {
  it.each([
    ['tree', 'application/x-tar'],
    ['files', 'application/octet-stream'],
  ])('of PUT /v1/%s is cut off by the next assignment, which gets the gate at once', async (route, type) => {
    const socket = await half(route, type);
    const end = once(socket, 'close');
    await expect(h.client().writeTree(h.workspace, tree)).rejects.toMatchObject({ code: 'AF_BUSY' });
    expect(await h.client(2).writeTree(h.workspace, tree)).toMatchObject({ files: 1 });
    await end;
    expect((await readdir(h.workspace)).sort()).toEqual(['link', 'src']);
  });
});

describe('PUT /v1/files', () => {
  it('that a kill cut off leaves nothing in the tree after the restart', async () => {
    await half('files', 'application/octet-stream');
    await writeFile(join(h.workspace, '.agentfleet-0123456789abcdef.tmp'), 'of the user');
    const [folders, killed] = [[h.store, h.workspace], join(h.dir, 'killed')];
    const as = { recursive: true, verbatimSymlinks: true };
    for (const folder of folders) await cp(folder, join(killed, basename(folder)), as);
    await h.stop();
    for (const folder of folders) {
      await rm(folder, { recursive: true });
      await cp(join(killed, basename(folder)), folder, as);
    }
    expect(await readdir(h.workspace)).toHaveLength(2);
    await h.start();
    expect(await readdir(h.workspace)).toEqual(['.agentfleet-0123456789abcdef.tmp']);
    await h.client(2).writeFile(join(h.workspace, 'f'), 'x');
    expect(await readdir(join(h.store, 'writes'))).toEqual([]);
  });
});

describe('POST /v1/notes', () => {
  it('puts a decision into the log, on disk before the answer', async () => {
    h = await startHarness();
    // The probe's result is a record too, and the note must be the last.
    await waitUntil(() => h.running.keeper.parts.network.info.state !== 'Probing');
    const data = { node: 'n1', scores: [1, 0.5], why: 'größer' };
    const { seq, hash } = await h.client(3).note('CandidateChosen', data);
    expect(await readFile(join(h.store, 'events.log'), 'utf8')).toContain(hash);
    expect(await recordsOf('Noted', 3)).toMatchObject([{ seq, hash, epoch: 3, body: { kind: 'CandidateChosen', data } }]);
    expect(await h.client(3).audit()).toMatchObject({ ok: true, root: hash });
  });

  it('puts several into the log in their order, or none of them', async () => {
    h = await startHarness();
    const note = (kind: string, text = 'x') => ({ kind, data: { text } });
    const { seq } = await h.client(3).noteAll([note('First'), note('Second'), note('Third')]);
    const large = h.client(3).noteAll([note('Fourth'), note('Fifth', 'x'.repeat(256 * 1024))]);
    await expect(large).rejects.toMatchObject({ code: 'AF_TOO_LARGE' });
    const many = h.client(3).noteAll([note('Sixth'), ...Array.from({ length: 16 }, () => note('More'))]);
    await expect(many).rejects.toMatchObject({ code: 'AF_INVALID', message: expect.stringContaining('next') as string });
    const recorded = (await recordsOf('Noted', 3)).map((record) => [record.body['kind'], record.seq]);
    expect(recorded).toEqual([['First', seq - 2], ['Second', seq - 1], ['Third', seq]]);
  }); // prettier-ignore

  it('refuses a note that is too large, too deep or no decision, and a stale worker', async () => {
    h = await startHarness();
    const note = (kind: string, data: Record<string, unknown>, epoch = 1) => h.client(epoch).note(kind, data);
    await note('Largest', { text: 'x'.repeat(256 * 1024 - 11) });
    await expect(note('Large', { text: 'x'.repeat(256 * 1024) })).rejects.toMatchObject({ code: 'AF_TOO_LARGE' });
    const deep = JSON.parse(`${'{"a":'.repeat(500)}1${'}'.repeat(500)}`) as Record<string, unknown>;
    await expect(note('Deep', deep)).rejects.toMatchObject({ code: 'AF_INVALID', message: expect.stringContaining('nested') as string });
    await expect(note('not camel', {})).rejects.toMatchObject({ code: 'AF_INVALID', message: expect.stringContaining('kind') as string });
    await note('Newer', {}, 2);
    await expect(note('Older', {}, 1)).rejects.toMatchObject({ code: 'AF_EPOCH_STALE' });
    expect((await recordsOf('Noted', 2)).map(({ body }) => body['kind'])).toEqual(['Largest', 'Newer']);
  });
});
