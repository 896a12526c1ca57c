import { createHash } from 'node:crypto';
import { Readable } from 'node:stream';
import { afterAll, beforeAll, describe, expect, it } from 'vitest';
import { maxArtifactBytes, type ArtifactStore } from '../store.ts';

/** An empty store of one kind. */
export interface Bench {
  readonly store: ArtifactStore;
  /** Prefix of all addresses, such as `s3://bucket/prefix/`. */
  readonly uri: string;
  close(): Promise<void>;
}

const text = 'text/plain; charset=utf-8';
const sha256 = (content: Uint8Array | string): string => createHash('sha256').update(content).digest('hex');

/** Bytes in, the same bytes out. */
function keepsContent(bench: () => Bench): void {
  it('returns the stored content, and its address, size and hash', async () => {
    const stored = await bench().store.put('team-a/fix/change.patch', '−old\n+new\n', text);
    expect(stored).toEqual({ uri: `${bench().uri}team-a/fix/change.patch`, sha256: sha256('−old\n+new\n'), bytes: 12 });
    expect((await bench().store.get('team-a/fix/change.patch')).toString('utf8')).toBe('−old\n+new\n');
  });

  it('stores every byte, also none', async () => {
    const all = Buffer.from(Array.from({ length: 256 }, (_, byte) => byte));
    await bench().store.put('bytes/all', all.subarray(1, 255), 'application/octet-stream');
    expect(await bench().store.get('bytes/all')).toEqual(all.subarray(1, 255));
    expect(await bench().store.put('bytes/none', '', text)).toMatchObject({ bytes: 0, sha256: sha256('') });
    expect(await bench().store.get('bytes/none')).toHaveLength(0);
  });

  it('replaces an existing key', async () => {
    await bench().store.put('again', 'a longer first content', text);
    await bench().store.put('again', 'second', text);
    expect((await bench().store.get('again')).toString()).toBe('second');
  });

  it('removes existing keys and accepts missing ones', async () => {
    await bench().store.put('remove/one', '1', text);
    await bench().store.put('remove/two', '2', text);
    await bench().store.remove(['remove/one', 'remove/never', 'never/at/all', 'remove/one']);
    expect(await bench().store.list('remove')).toEqual(['remove/two']);
    await expect(bench().store.get('remove/one')).rejects.toMatchObject({ name: 'StoreFailure', code: 'NotFound' });
  });
}

/** Keys are text, not paths of one system. */
function keepsKeys(bench: () => Bench): void {
  it('keeps keys as they are written', async () => {
    const names = ['a b', 'a+b', 'ä/ö', 'a%2Fb', 'quote\'"s', 'x&amp;y<z>', '日本/語', '😀', '!*()~,;:@=$?#[]{}|^`\\', '..a', '-'];
    const keys = names.map((name) => `names/${name}`);
    for (const key of keys) await bench().store.put(key, key, text);
    expect(await bench().store.list('names/')).toEqual([...keys].sort());
    for (const key of keys) expect((await bench().store.get(key)).toString('utf8')).toBe(key);
    await bench().store.remove(keys);
    expect(await bench().store.list('names/')).toEqual([]);
  });
}

/** Listings are whole and sorted. */
function lists(bench: () => Bench): void {
  it('lists by any prefix, not only by folders', async () => {
    for (const key of ['list/ab/1', 'list/abc', 'list/b', 'list/ab/0/x']) await bench().store.put(key, '', text);
    expect(await bench().store.list('list/ab')).toEqual(['list/ab/0/x', 'list/ab/1', 'list/abc']);
    expect(await bench().store.list('list/ab/')).toEqual(['list/ab/0/x', 'list/ab/1']);
    expect(await bench().store.list('list/abc')).toEqual(['list/abc']);
    expect(await bench().store.list('list/nothing')).toEqual([]);
    expect(await bench().store.list('')).toEqual(expect.arrayContaining(['list/ab/0/x', 'list/b']));
  });

  it('knows sizes and times', async () => {
    const before = Date.now();
    await bench().store.put('listed/a', 'abc', text);
    await bench().store.put('listed/b', '', text);
    const [a, b, ...more] = await bench().store.entries('listed/');
    expect([a, b].map((one) => [one?.key, one?.bytes])).toEqual([
      ['listed/a', 3],
      ['listed/b', 0],
    ]);
    expect(more).toEqual([]);
    // Whole seconds in S3, and the clock of another machine.
    for (const one of [a, b]) expect(Math.abs((one?.modifiedAt ?? 0) - before)).toBeLessThan(60_000);
    expect(await bench().store.entries('listed/nothing')).toEqual([]);
  });

  it('lists more keys than S3 answers at once', async () => {
    const keys = Array.from({ length: 1003 }, (_, number) => `many/${String(number).padStart(4, '0')}`);
    const left = keys.values();
    const writer = async (): Promise<void> => {
      for (const key of left) await bench().store.put(key, key, text);
    };
    await Promise.all(Array.from({ length: 8 }, writer));
    expect(await bench().store.list('many/')).toEqual(keys);
    await bench().store.remove(keys);
    expect(await bench().store.list('many/')).toEqual([]);
  });
}

/** Streams are stored whole or not at all. */
function takesStreams(bench: () => Bench): void {
  it('takes a stream in small pieces', async () => {
    const pieces = Array.from({ length: 500 }, (_, number) => Buffer.alloc(1 + (number % 7), number % 251));
    const whole = Buffer.concat(pieces);
    expect(await bench().store.put('stream', Readable.from(pieces), text)).toMatchObject({ bytes: whole.length, sha256: sha256(whole) });
    expect(await bench().store.get('stream')).toEqual(whole);
  });

  it('stores the largest artifact and refuses a larger one whole', async () => {
    const piece = Buffer.alloc(1024 * 1024, 7);
    const stream = (extra: number): Readable =>
      Readable.from(
        (function* () {
          for (let sent = 0; sent < maxArtifactBytes; sent += piece.length) yield piece;
          if (extra > 0) yield Buffer.alloc(extra);
        })(),
      );
    expect(await bench().store.put('large', stream(0), text)).toMatchObject({ bytes: maxArtifactBytes });
    expect(await bench().store.get('large')).toHaveLength(maxArtifactBytes);
    await expect(bench().store.put('too/large', stream(1), text)).rejects.toMatchObject({ code: 'TooLarge' });
    expect(await bench().store.list('too')).toEqual([]);
    await bench().store.remove(['large']);
  });
}

/** Sources that break, writers at once, callers that stop. */
function survivesTrouble(bench: () => Bench): void {
  it('stores nothing of a stream that breaks', async () => {
    const broken = Readable.from(
      (function* () {
        yield Buffer.from('half');
        throw new Error('the source broke');
      })(),
    );
    await expect(bench().store.put('broken', broken, text)).rejects.toThrow('the source broke');
    expect(await bench().store.list('broken')).toEqual([]);
  });

  it('one of several writers of a key wins whole', async () => {
    const contents = Array.from({ length: 8 }, (_, writer) => String(writer).repeat(100_000));
    await Promise.all(contents.map((content) => bench().store.put('race', content, text)));
    expect(contents).toContain((await bench().store.get('race')).toString());
  });

  it('does nothing for a signal that is aborted', async () => {
    const signal = AbortSignal.abort(new Error('stopped'));
    await expect(bench().store.put('aborted', 'x', text, signal)).rejects.toThrow('stopped');
    await expect(bench().store.get('again', signal)).rejects.toThrow('stopped');
    await expect(bench().store.list('', signal)).rejects.toThrow('stopped');
    await expect(bench().store.remove(['again'], signal)).rejects.toThrow('stopped');
    expect(await bench().store.list('a')).toEqual(['again']);
  });
}

/** A key that some store cannot hold is refused by all. */
function refusesKeys(bench: () => Bench): void {
  it.each(['', '/', 'a//b', '../x', 'a/../../x', './x', 'a/', '/etc/x', 'a\0b', 'a\nb', 'x'.repeat(256), 'y/'.repeat(400) + 'y', '\uD800'])(
    'refuses the key %j',
    async (key) => {
      const refused = { name: 'StoreFailure', code: 'InvalidKey' };
      await expect(bench().store.put(key, 'x', text)).rejects.toMatchObject(refused);
      await expect(bench().store.get(key)).rejects.toMatchObject(refused);
      await expect(bench().store.remove([key])).rejects.toMatchObject(refused);
    },
  );
}

/** The contract of every kind of store. */
export function storeContract(kind: string, open: () => Promise<Bench>): void {
  describe(`the store in ${kind}`, () => {
    let opened: Bench;
    beforeAll(async () => {
      opened = await open();
    });
    afterAll(() => opened.close());
    for (const part of [keepsContent, keepsKeys, lists, takesStreams, survivesTrouble, refusesKeys]) part(() => opened);
  });
}
