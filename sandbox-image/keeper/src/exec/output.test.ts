import * as fc from 'fast-check';
import { describe, expect, it } from 'vitest';
import { systemClock, type Clock } from '../base/clock.ts';
import { incompleteTail, OutputEncoder, type Output } from './output.ts';

const never: Clock = { ...systemClock, after: () => () => undefined };

async function encode(chunks: readonly (readonly ['stdout' | 'stderr', Buffer])[], limit = 1 << 24) {
  const events: Output[] = [];
  const encoder = new OutputEncoder(
    {
      emit: (output) => {
        events.push(output);
        return undefined;
      },
    },
    never,
    limit,
  );
  for (const [stream, bytes] of chunks) await encoder.push(stream, bytes);
  await encoder.finish();
  return { events, dropped: encoder.dropped };
}

const bytesOf = (events: readonly Output[], stream: string): Buffer =>
  Buffer.concat(
    events
      .filter((event) => event.stream === stream)
      .map((event) => ('text' in event ? Buffer.from(event.text) : Buffer.from(event.b64, 'base64'))),
  );

describe('the output encoder', () => {
  it('loses no byte of either stream, whatever the bytes and the cuts', async () => {
    const piece = fc.tuple(
      fc.constantFrom('stdout' as const, 'stderr' as const),
      fc.oneof(
        fc.uint8Array({ maxLength: 40 }),
        fc.string({ unit: 'binary' }).map((s) => Buffer.from(s)),
      ),
    );
    await fc.assert(
      fc.asyncProperty(fc.array(piece, { maxLength: 20 }), async (pieces) => {
        const chunks = pieces.map(([stream, bytes]) => [stream, Buffer.from(bytes)] as const);
        const { events } = await encode(chunks);
        for (const stream of ['stdout', 'stderr'] as const) {
          const sent = Buffer.concat(chunks.filter(([name]) => name === stream).map(([, bytes]) => bytes));
          expect(bytesOf(events, stream).equals(sent)).toBe(true);
        }
      }),
      { numRuns: 500 },
    );
  });

  it('never splits a character of valid text into base64', async () => {
    await fc.assert(
      fc.asyncProperty(fc.string({ unit: 'grapheme', minLength: 1 }), fc.integer({ min: 1, max: 5 }), async (text, size) => {
        const bytes = Buffer.from(text);
        const chunks: ['stdout' | 'stderr', Buffer][] = [];
        // The other stream in between forces a flush at every cut.
        for (let at = 0; at < bytes.length; at += size)
          chunks.push(['stdout', bytes.subarray(at, at + size)], ['stderr', Buffer.from('e')]);
        const { events } = await encode(chunks);
        expect(events.every((event) => 'text' in event)).toBe(true);
      }),
    );
  });

  it('drops and counts output over the common limit of both streams', async () => {
    const { events, dropped } = await encode(
      [
        ['stdout', Buffer.from('abc')],
        ['stderr', Buffer.from('defg')],
        ['stdout', Buffer.from('h')],
      ],
      5,
    );
    expect([bytesOf(events, 'stdout').toString(), bytesOf(events, 'stderr').toString()]).toEqual(['abc', 'de']);
    expect(dropped).toEqual({ stdout: 1, stderr: 2 });
  });

  it('joins small writes of one stream', async () => {
    const { events } = await encode(Array.from({ length: 100 }, () => ['stdout', Buffer.from('x')] as const));
    expect(events).toEqual([{ type: 'out', stream: 'stdout', text: 'x'.repeat(100) }]);
  });

  it('writes output as base64 where JSON escapes would be longer', async () => {
    const { events } = await encode([['stdout', Buffer.alloc(1000)]]);
    expect(events).toEqual([{ type: 'out', stream: 'stdout', b64: Buffer.alloc(1000).toString('base64') }]);
  });

  it.each([
    ['', 0],
    ['61', 0],
    ['c3', 1],
    ['c3a4', 0],
    ['e282', 2],
    ['f09f98', 3],
    ['f09f9880', 0],
    ['808080', 0],
    ['ff', 0],
  ])('holds back of %s the last %i bytes', (hex, held) => {
    expect(incompleteTail(Buffer.from(hex, 'hex'))).toBe(held);
  });
});
