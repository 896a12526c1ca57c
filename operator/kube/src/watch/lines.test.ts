import { Readable } from 'node:stream';
import * as fc from 'fast-check';
import { describe, expect, it } from 'vitest';
import { LineSplitter, linesOf } from './watch.ts';

function split(chunks: readonly Uint8Array[]): string[] {
  const splitter = new LineSplitter();
  const lines: string[] = [];
  for (const chunk of chunks) splitter.push(chunk, (line) => lines.push(line));
  return lines;
}

describe('LineSplitter', () => {
  it('gives the same lines however the bytes are cut', () => {
    const line = fc.jsonValue().map((value) => JSON.stringify(value));
    const property = fc.property(fc.array(line, { maxLength: 20 }), fc.array(fc.nat(), { maxLength: 30 }), (lines, cuts) => {
      const bytes = Buffer.from(lines.map((one) => `${one}\n`).join(''));
      const at = [0, ...cuts.map((cut) => cut % (bytes.length + 1)).sort((a, b) => a - b), bytes.length];
      const chunks = at.slice(1).map((end, i) => bytes.subarray(at[i], end));
      expect(split(chunks)).toEqual(lines);
    });
    fc.assert(property, { numRuns: 500 });
  });

  it('survives a cut at every single byte of a character', () => {
    const bytes = Buffer.from('{"a":"é😀"}\n');
    expect(split([...bytes].map((byte) => Uint8Array.of(byte)))).toEqual(['{"a":"é😀"}']);
  });

  it('keeps a torn line to itself and skips empty ones', () => {
    const splitter = new LineSplitter();
    const lines: string[] = [];
    splitter.push(Buffer.from('\n\r\n{"a":1}\n{"b"'), (line) => lines.push(line));
    expect(lines).toEqual(['{"a":1}']);
    expect(splitter.pending).toBe(4);
  });

  it('refuses a line without end', () => {
    const splitter = new LineSplitter(10);
    const push = (): void => splitter.push(Buffer.from('12345678'), () => {});
    push();
    expect(push).toThrow(/AF_API_MALFORMED/);
  });
});

it('linesOf cuts at line feeds alone, and needs none behind the last line', async () => {
  const lines = ['{"a":"\u2028\u2029\u0085"}', '{"b":1}'];
  for (const end of ['', '\n']) {
    const bytes = Buffer.from(lines.join('\n') + end);
    expect(await Readable.from(linesOf(Readable.from([bytes]))).toArray()).toEqual(lines);
  }
});
