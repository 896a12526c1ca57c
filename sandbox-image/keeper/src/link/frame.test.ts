import * as fc from 'fast-check';
import { describe, expect, it } from 'vitest';
import { encodeFrame, FrameError, FrameParser, frameLimits, handshakeLimits, type Frame } from './frame.ts';

function parseAll(parser: FrameParser, bytes: Buffer, cuts: readonly number[]): Frame[] {
  const frames: Frame[] = [];
  const drain = (): void => {
    for (let frame = parser.next(); frame !== null; frame = parser.next()) frames.push(frame);
  };
  let at = 0;
  for (const cut of [...cuts].map((c) => c % (bytes.length + 1)).sort((a, b) => a - b)) {
    parser.push(bytes.subarray(at, cut));
    drain();
    at = Math.max(at, cut);
  }
  parser.push(bytes.subarray(at));
  drain();
  return frames;
}

const frames = fc.array(fc.record({ t: fc.string(), note: fc.string(), body: fc.uint8Array({ maxLength: 300 }) }), { maxLength: 8 });

describe('the frame parser', () => {
  it('decodes to the encoded frames, however the stream is cut', () => {
    fc.assert(
      fc.property(frames, fc.array(fc.nat(4000), { maxLength: 40 }), (sent, cuts) => {
        const bytes = Buffer.concat(sent.map(({ t, note, body }) => encodeFrame({ t, note }, body)));
        const got = parseAll(new FrameParser(frameLimits), bytes, cuts);
        expect(got.map(({ header, body }) => ({ ...header, body: [...body] }))).toEqual(
          sent.map((frame) => ({ ...frame, body: [...frame.body] })),
        );
      }),
      { numRuns: 500 },
    );
  });

  it('throws nothing but FrameError, and yields only headers with t, for any bytes', () => {
    fc.assert(
      fc.property(fc.uint8Array({ maxLength: 200 }), fc.array(fc.nat(200), { maxLength: 5 }), (noise, cuts) => {
        try {
          for (const frame of parseAll(new FrameParser(frameLimits), Buffer.from(noise), cuts))
            expect(typeof frame.header.t).toBe('string');
        } catch (error) {
          expect(error).toBeInstanceOf(FrameError);
        }
      }),
      { numRuns: 1000 },
    );
  });

  it.each([
    ['a header over the limit', [0x00, 0x10, 0x00, 0x01, 0, 0, 0, 0]],
    ['a body over the limit', [0, 0, 0, 2, 0x00, 0x10, 0x00, 0x01]],
    ['a header without t', [0, 0, 0, 2, 0, 0, 0, 0, 0x7b, 0x7d]],
    ['a header that is a list', [0, 0, 0, 2, 0, 0, 0, 0, 0x5b, 0x5d]],
    ['a header that is no JSON', [0, 0, 0, 2, 0, 0, 0, 0, 0x7b, 0x7b]],
  ])('refuses %s', (_what, bytes) => {
    const parser = new FrameParser(frameLimits);
    parser.push(Buffer.from(bytes));
    expect(() => parser.next()).toThrow(FrameError);
  });

  it('refuses at the prefix: no memory is given before a limit is checked', () => {
    const parser = new FrameParser(handshakeLimits);
    parser.push(Buffer.from([0, 0, 0x10, 0x01, 0, 0, 0, 0]));
    expect(() => parser.next()).toThrow(/4097/);
  });

  it('encodes up to the limit and not beyond', () => {
    expect(() => encodeFrame({ t: 'x' }, Buffer.alloc(frameLimits.body))).not.toThrow();
    expect(() => encodeFrame({ t: 'x' }, Buffer.alloc(frameLimits.body + 1))).toThrow(FrameError);
    expect(() => encodeFrame({ t: 'x'.repeat(frameLimits.header) })).toThrow(FrameError);
  });
});
