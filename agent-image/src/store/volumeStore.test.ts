import { mkdir, mkdtemp, readdir, rm, symlink, utimes, writeFile } from 'node:fs/promises';
import { tmpdir } from 'node:os';
import { join } from 'node:path';
import { systemClock } from '@agentfleet/kube';
import { afterEach, beforeEach, describe, expect, it } from 'vitest';
import { createArtifactStore } from './index.ts';
import type { ArtifactStore } from './store.ts';
import { storeContract } from './testing/contract.ts';

const temporary = (): Promise<string> => mkdtemp(join(tmpdir(), 'agentfleet-volume-'));
const inFolder = (path: string, spool = path): ArtifactStore =>
  createArtifactStore({ type: 'Volume', path, claim: 'artifacts' }, { clock: systemClock, random: () => 0, spool });

storeContract('a volume', async () => {
  const [folder, spool] = [await temporary(), await temporary()];
  return {
    store: inFolder(folder, spool),
    uri: 'pvc://artifacts/',
    close: async () => {
      expect(await readdir(spool)).toEqual([]);
      expect(await readdir(join(folder, '.agentfleet-unfinished'))).toEqual([]);
      await Promise.all([folder, spool].map((path) => rm(path, { recursive: true })));
    },
  };
});

describe('conditions of a volume only', () => {
  let folder: string;
  let outside: string;
  let store: ArtifactStore;
  beforeEach(async () => {
    [folder, outside] = [await temporary(), await temporary()];
    store = inFolder(folder);
  });
  afterEach(() => Promise.all([folder, outside].map((path) => rm(path, { recursive: true, force: true }))));

  it('ends a read whose reader disconnects, whenever that is, and nothing else', async () => {
    await store.put('a', Buffer.alloc(300_000), 'text/plain');
    const unhandled: unknown[] = [];
    const note = (error: unknown): void => void unhandled.push(error);
    process.on('uncaughtException', note);
    for (let turns = 0; turns < 30; turns += 1) {
      const abort = new AbortController();
      const reading = store.get('a', abort.signal).then(
        ({ length }) => length,
        (error: Error) => error.name,
      );
      for (let turn = 0; turn < turns; turn += 1) await new Promise((resolve) => setImmediate(resolve));
      abort.abort();
      expect(['AbortError', 300_000]).toContain(await reading);
    }
    await new Promise((resolve) => setTimeout(resolve, 20));
    process.off('uncaughtException', note);
    expect(unhandled).toEqual([]);
  });

  it('follows no link out of the volume', async () => {
    await writeFile(join(outside, 'secret'), 'secret');
    await symlink(outside, join(folder, 'out'));
    await symlink(join(outside, 'secret'), join(folder, 'file'));
    await expect(store.get('out/secret')).rejects.toMatchObject({ code: 'InvalidKey' });
    await expect(store.get('file')).rejects.toMatchObject({ code: 'InvalidKey' });
    await expect(store.put('out/new/file', 'x', 'text/plain')).rejects.toMatchObject({ code: 'InvalidKey' });
    await expect(store.remove(['out/secret'])).rejects.toMatchObject({ code: 'InvalidKey' });
    expect(await store.list('')).toEqual([]);
    expect(await readdir(outside)).toEqual(['secret']);
  });

  it('replaces a link in the place of a key, and not its target', async () => {
    await writeFile(join(outside, 'target'), 'before');
    await symlink(join(outside, 'target'), join(folder, 'key'));
    await store.put('key', 'after', 'text/plain');
    expect((await store.get('key')).toString()).toBe('after');
    await expect(readdir(outside)).resolves.toEqual(['target']);
  });

  it('refuses a key that is a folder of others, and one below a file', async () => {
    await store.put('a/b', 'x', 'text/plain');
    await expect(store.put('a', 'x', 'text/plain')).rejects.toMatchObject({ code: 'InvalidKey' });
    await expect(store.put('a/b/c', 'x', 'text/plain')).rejects.toMatchObject({ code: 'InvalidKey' });
    await expect(store.get('a')).rejects.toMatchObject({ code: 'NotFound' });
    await store.remove(['a', 'a/b/c']);
    expect(await store.list('')).toEqual(['a/b']);
  });

  it('leaves no empty folders', async () => {
    await store.put('a/b/c', 'x', 'text/plain');
    await store.put('a/d', 'x', 'text/plain');
    await store.remove(['a/b/c']);
    expect(await readdir(join(folder, 'a'))).toEqual(['d']);
  });

  it('reports that the volume is missing, and does not create it', async () => {
    const missing = inFolder(join(folder, 'missing'));
    await expect(missing.list('')).rejects.toMatchObject({ code: 'NotFound' });
    await expect(missing.put('a', 'x', 'text/plain')).rejects.toMatchObject({ code: 'NotFound' });
    expect(await readdir(folder)).toEqual([]);
  });

  it('removes leftovers of a killed worker, and not the files that another one writes', async () => {
    const unfinished = join(folder, '.agentfleet-unfinished');
    await mkdir(unfinished);
    for (const name of ['abandoned', 'growing']) await writeFile(join(unfinished, name), 'x');
    const longAgo = Date.now() / 1000 - 2 * 60 * 60;
    await utimes(join(unfinished, 'abandoned'), longAgo, longAgo);
    await store.put('a', 'x', 'text/plain');
    expect(await readdir(unfinished)).toEqual(['growing']);
  });

  it('shows no unfinished file', async () => {
    await mkdir(join(folder, '.agentfleet-unfinished'));
    await writeFile(join(folder, '.agentfleet-unfinished', 'half'), 'x');
    expect(await store.list('')).toEqual([]);
    await expect(store.get('.agentfleet-unfinished/half')).rejects.toMatchObject({ code: 'InvalidKey' });
  });
});
