import { describe, expect, test } from 'vitest';
import { readLines } from './transport.ts';

async function* chunks(...parts: (string | Buffer)[]): AsyncGenerator<Uint8Array> {
  for (const part of parts) yield await Promise.resolve(Buffer.from(part));
}

async function all(source: AsyncIterable<Uint8Array>): Promise<unknown[]> {
  const values: unknown[] = [];
  for await (const value of readLines(source)) values.push(value);
  return values;
}

describe('NDJSON reader', () => {
  test('joins lines and characters that were cut anywhere', async () => {
    const text = Buffer.from('{"a":"ä€🙂"}\n{"b":2}\n');
    for (let at = 1; at < text.length; at += 1) {
      expect(await all(chunks(text.subarray(0, at), text.subarray(at)))).toEqual([{ a: 'ä€🙂' }, { b: 2 }]);
    }
  });

  test('refuses a torn last line instead of ending quietly', async () => {
    await expect(all(chunks('{"a":1}\n{"b"'))).rejects.toThrow('cut in the middle');
  });
});
