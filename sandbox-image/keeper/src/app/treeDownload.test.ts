import { execFileSync } from 'node:child_process';
import { randomBytes } from 'node:crypto';
import { once } from 'node:events';
import { link, mkdir, symlink, truncate, utimes, writeFile } from 'node:fs/promises';
import { join } from 'node:path';
import { buffer } from 'node:stream/consumers';
import { maxTreeBytes } from '@agentfleet/protocol/keeper';
import { afterEach, beforeEach, describe, expect, it } from 'vitest';
import { startRealKeeper } from '../durable/testing/index.ts';
import { waitUntil, type Harness } from '../testing/index.ts';

let h: Harness;
let from: string;

beforeEach(async () => {
  h = await startRealKeeper();
  from = join(h.workspace, 'from');
  await mkdir(from);
});

afterEach(() => h[Symbol.asyncDispose]());

/** Type, mode, time to the nanosecond, size, number of names, target and name of all that is there. */
const listing = (folder: string): string => {
  const files = ['(', '-type', 'd', '-printf', '%y %m %T@ %p\\0', '-o', '-printf', '%y %m %T@ %s %n %l %p\\0', ')'];
  return execFileSync('find', ['.', '-mindepth', '1', ...files], { cwd: folder, encoding: 'latin1' })
    .split('\0')
    .sort()
    .join('\n');
};

async function fill(): Promise<void> {
  const odd = Buffer.concat([Buffer.from(`${from}/`), Buffer.from([0x66, 0xff, 0x0a, 0x20, 0xc3])]);
  const deep = join(from, 'd'.repeat(90), 'e'.repeat(90));
  await mkdir(deep, { recursive: true });
  await mkdir(join(from, 'empty'), { mode: 0o700 });
  await writeFile(odd, 'odd');
  await writeFile(join(deep, 'ü'), Buffer.alloc(100_000, 7), { mode: 0o750 });
  await writeFile(join(from, 'block'), Buffer.alloc(512));
  await writeFile(join(from, 'nothing'), '');
  await link(join(from, 'block'), join(from, 'further'));
  await symlink('/etc', join(from, 'out'));
  await symlink('t'.repeat(150), join(from, 'long target'));
  await utimes(join(from, 'block'), 1, 1_000_000_000.25);
}

describe('GET /v1/tree', () => {
  it('gives a tree that GNU tar and PUT /v1/tree unpack to the same, any names and links included', async () => {
    await fill();
    const { tar, skipped } = await h.client().readTree(from);
    const archive = await buffer(tar);
    expect(skipped).toBe(0);
    const unpacked = join(h.dir, 'unpacked');
    await mkdir(unpacked);
    execFileSync('tar', ['-xpf', '-'], { cwd: unpacked, input: archive });
    expect(listing(unpacked)).toBe(listing(from));
    const again = join(h.workspace, 'again');
    await h.client().writeTree(again, archive);
    // PUT sets times as numbers of seconds, which have no nanoseconds.
    const times = (text: string): string => text.replaceAll(/(\d{9,})\.\d+/g, '$1');
    expect(times(listing(again))).toBe(times(listing(from)));
  });

  it('gives an empty folder as an empty archive', async () => {
    expect(await buffer((await h.client().readTree(from)).tar)).toEqual(Buffer.alloc(1024));
  });

  it('never follows a link, and counts the entries left out', async () => {
    await writeFile(join(h.dir, 'secret'), 'secret');
    await symlink(join(h.dir, 'secret'), join(from, 'link'));
    await symlink(h.dir, join(from, 'folder'));
    execFileSync('mkfifo', [join(from, 'fifo')]);
    const { tar, skipped } = await h.client().readTree(from);
    const archive = await buffer(tar);
    expect(skipped).toBe(1);
    expect(execFileSync('tar', ['-tf', '-'], { input: archive, encoding: 'utf8' }).split('\n')).toEqual(['folder', 'link', '']);
    expect(archive.includes('secret\0'.padEnd(512, '\0'))).toBe(false);
    await expect(h.client().readTree(join(from, 'folder'))).rejects.toMatchObject({ code: 'AF_PATH_OUTSIDE_ROOTS' });
    await expect(h.client().readTree('/etc')).rejects.toMatchObject({ code: 'AF_PATH_OUTSIDE_ROOTS' });
    await expect(h.client().readTree(join(from, 'none'))).rejects.toMatchObject({ code: 'AF_FILE_NOT_FOUND' });
  });

  it('refuses a tree that is too large before the first byte', async () => {
    await writeFile(join(from, 'sparse'), '');
    await truncate(join(from, 'sparse'), maxTreeBytes + 1);
    await expect(h.client().readTree(from)).rejects.toMatchObject({ code: 'AF_TOO_LARGE', status: 413 });
    expect((await h.client().listFiles(from)).entries).toHaveLength(1);
  });

  it('excludes all others to its end, and releases the gate when the reader disconnects', async () => {
    await writeFile(join(from, 'large'), Buffer.alloc(64 * 1024 * 1024));
    const { tar } = await h.client().readTree(from);
    await expect(h.client().writeFile(join(from, 'f'), 'x')).rejects.toMatchObject({ code: 'AF_BUSY' });
    tar.on('error', () => undefined).destroy();
    await waitUntil(async () =>
      h
        .client()
        .writeFile(join(from, 'f'), 'x')
        .then(
          () => true,
          () => false,
        ),
    );
  });
});

describe('a reader that does not read', () => {
  it.each(['tree', 'revert'])('of GET /v1/%s is cut off by the next assignment, which gets the gate at once', async (route) => {
    const { id } = await h.client().takeSnapshot();
    await writeFile(join(from, 'large'), randomBytes(32 * 1024 * 1024));
    const tar = route === 'tree' ? (await h.client().readTree(from)).tar : await h.client().revertBundle(id);
    const cut = once(tar, 'error');
    await expect(h.client().restore(id)).rejects.toMatchObject({ code: 'AF_BUSY' });
    expect(await h.client(2).restore(id)).toMatchObject({ id });
    tar.resume();
    await cut;
  });

  it('of the assignment that takes over is served to its end', async () => {
    await writeFile(join(from, 'large'), Buffer.alloc(32 * 1024 * 1024));
    const { tar } = await h.client(2).readTree(from);
    await h.client(2).note('Newer', {});
    expect((await buffer(tar)).length).toBeGreaterThan(32 * 1024 * 1024);
  });
});
