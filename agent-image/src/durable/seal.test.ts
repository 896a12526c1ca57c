import { randomBytes } from 'node:crypto';
import { mkdtemp, rm, writeFile } from 'node:fs/promises';
import { tmpdir } from 'node:os';
import { join } from 'node:path';
import { describe, expect, it } from 'vitest';
import { parseKeys, readSealer } from './manifest.ts';
import { createSealer } from './seal.ts';

const content = Buffer.from('x = 1\n'.repeat(100));
const sealers = { 'without a key': createSealer(null), 'with a key': createSealer(randomBytes(32)) };

describe.each(Object.entries(sealers))('a blob %s', (_, sealer) => {
  it('returns the content sealed under its name, and nothing under another', async () => {
    const blob = await sealer.seal('a', content);
    expect(await sealer.open('a', blob)).toEqual(content);
    await expect(sealer.open('b', blob)).rejects.toMatchObject({ code: 'Damaged' });
    expect(await sealer.open('e', await sealer.seal('e', Buffer.alloc(0)))).toEqual(Buffer.alloc(0));
  });

  it('detects every changed and every missing byte', async () => {
    const blob = await sealer.seal('a', content);
    for (let at = 0; at < blob.length; at += 1) {
      const other = Buffer.from(blob);
      other[at] = (other[at] ?? 0) ^ 0x10;
      await expect(sealer.open('a', other)).rejects.toMatchObject({ name: 'DurableFailure' });
      await expect(sealer.open('a', blob.subarray(0, at))).rejects.toMatchObject({ name: 'DurableFailure' });
    }
  });

  it('has the same name for the same content of the same kind', () => {
    expect(sealer.name('pack', content)).toBe(sealer.name('pack', Buffer.from(content)));
    expect(sealer.name('pack', content)).not.toBe(sealer.name('manifest', content));
    expect(sealer.name('pack', content)).toMatch(/^[0-9a-f]{64}$/);
  });
});

describe('a key', () => {
  const key = randomBytes(32);

  it('hides names and contents, and no two blobs are alike', async () => {
    const [mine, plain] = [createSealer(key), createSealer(null)];
    expect(mine.name('pack', content)).not.toBe(plain.name('pack', content));
    expect(createSealer(randomBytes(32)).name('pack', content)).not.toBe(mine.name('pack', content));
    expect(createSealer(key).name('pack', content)).toBe(mine.name('pack', content));
    expect(await mine.seal('a', content)).not.toEqual(await mine.seal('a', content));
  });

  it('is needed, and the right one; and an unencrypted blob is not trusted', async () => {
    const blob = await createSealer(key).seal('a', content);
    await expect(createSealer(null).open('a', blob)).rejects.toMatchObject({ code: 'WrongKey' });
    await expect(createSealer(randomBytes(32)).open('a', blob)).rejects.toMatchObject({ code: 'WrongKey' });
    await expect(createSealer(key).open('a', await createSealer(null).seal('a', content))).rejects.toMatchObject({ code: 'WrongKey' });
  });

  it('reads blobs of an earlier key, and seals with the first', async () => {
    const [old, now] = [createSealer(key), createSealer(randomBytes(32), [key])];
    const blob = await old.seal('a', content);
    expect(await now.open('a', blob)).toEqual(content);
    const fresh = await now.seal('a', content);
    expect([now.isCurrent(blob), now.isCurrent(fresh), old.isCurrent(blob)]).toEqual([false, true, true]);
    await expect(old.open('a', fresh)).rejects.toMatchObject({ code: 'WrongKey' });
    expect(now.name('pack', content)).not.toBe(old.name('pack', content));
    expect(now.keyIds).toHaveLength(2);
  });

  it('is the base64 of 32 bytes and nothing else, one a line', () => {
    expect(parseKeys(`${key.toString('base64')}\n`)).toEqual([key]);
    const other = randomBytes(32);
    expect(parseKeys(`${other.toString('base64')}\r\n\n${key.toString('base64')}`)).toEqual([other, key]);
    expect(parseKeys(`${key.toString('base64')}\nsecret`)).toBeNull();
    expect(parseKeys(`${key.toString('base64')}\n`.repeat(9))).toBeNull();
    for (const wrong of [
      '',
      'secret',
      randomBytes(31).toString('base64'),
      randomBytes(33).toString('base64'),
      key.toString('hex'),
      `${key.toString('base64')}x`,
    ])
      expect(parseKeys(wrong)).toBeNull();
  });

  it('that is none ends with the field and the cure, and without the value', async () => {
    const folder = await mkdtemp(join(tmpdir(), 'key-'));
    try {
      await writeFile(join(folder, 'key'), 'a-secret-that-is-no-key');
      const refused = readSealer(join(folder, 'key'));
      await expect(refused).rejects.toMatchObject({ failureClass: 'Infrastructure', reason: 'EncryptionKeyInvalid' });
      await expect(refused).rejects.toThrow(/spec\.storage\.encryption\.credential.*base64/);
      await expect(refused).rejects.not.toThrow('a-secret');
      await expect(readSealer(join(folder, 'none'))).rejects.toMatchObject({ reason: 'EncryptionKeyInvalid' });
      await writeFile(join(folder, 'key'), key.toString('base64'));
      await expect(readSealer(join(folder, 'key'))).resolves.toBeDefined();
    } finally {
      await rm(folder, { recursive: true });
    }
  });
});
