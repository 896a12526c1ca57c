import * as fc from 'fast-check';
import { describe, expect, it } from 'vitest';
import { scoreBounds } from '@agentfleet/protocol/inference';
import { piecesOf, textOf } from './pieces.ts';

const { maxTextChars } = scoreBounds;
/** A text each of whose parts stands in it once. */
const counted = (chars: number): string =>
  Array.from({ length: Math.ceil(chars / 8) }, (_, n) => String(n).padStart(8, '_'))
    .join('')
    .slice(0, chars);

describe('pieces of an act', () => {
  it('are the act itself where it fits', () => {
    const subject = counted(maxTextChars);
    expect(piecesOf({ subject })).toEqual([{ subject }]);
    expect(piecesOf({ subject: 'f', content: '' })).toEqual([{ subject: 'f', content: '' }]);
    expect(piecesOf({ subject: 'f', content: subject.slice(2) })).toHaveLength(1);
    expect(piecesOf({ subject: 'f', content: subject.slice(1) })).toHaveLength(2);
    expect(piecesOf({ subject: `${subject}x` })).toHaveLength(2);
  });

  it('hold all of it, what is short in one of them, and are read whole', () => {
    const act = fc.record({
      chars: fc.integer({ min: maxTextChars + 1, max: 200_000 }),
      first: fc.integer({ min: 1, max: 2000 }),
      file: fc.boolean(),
      part: fc.double({ min: 0, max: 1, noNaN: true }),
    });
    fc.assert(
      fc.property(act, ({ chars, first, file, part }) => {
        const line = 'c'.repeat(first);
        const text = counted(chars);
        const pieces = piecesOf(file ? { subject: line, content: text } : { subject: `${line}\n${text}` }) ?? [];
        const at = Math.floor(part * (chars - 1024));
        const short = text.slice(at, at + 1024);
        expect(pieces.some((one) => textOf(one).includes(short))).toBe(true);
        expect(textOf(pieces.at(-1) ?? { subject: '' }).endsWith(text.slice(-1024))).toBe(true);
        for (const one of pieces) {
          expect(textOf(one).length).toBeLessThanOrEqual(maxTextChars);
          expect(one.subject.startsWith(line.slice(0, 512))).toBe(true);
        }
      }),
    );
  });

  it.each([
    ['a command', { subject: counted(1_000_000) }],
    ['a file', { subject: 'f', content: counted(1_000_000) }],
    ['a path', { subject: counted(maxTextChars - 1024), content: 'x'.repeat(2000) }],
  ])('are none where %s needs too many', (_, act) => {
    expect(piecesOf(act)).toBeNull();
  });
});
