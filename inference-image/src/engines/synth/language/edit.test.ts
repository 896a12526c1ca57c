import * as fc from 'fast-check';
import { describe, expect, it } from 'vitest';
import { apply, canonical } from './edit.ts';

describe('the canonical edit', () => {
  it('cuts the common parts of both sides', () => {
    expect(canonical('a < b', [{ start: 0, end: 5, after: 'a <= b' }])).toEqual({ start: 3, end: 3, after: '=' });
  });

  it('joins several edits into one span', () => {
    const edits = [
      { start: 2, end: 3, after: 'b' },
      { start: 5, end: 6, after: 'a' },
    ];
    expect(canonical('f(a, b)', edits)).toEqual({ start: 2, end: 6, after: 'b, a' });
  });

  it('is null for an edit without effect', () => {
    expect(canonical('abc', [{ start: 1, end: 2, after: 'b' }])).toBeNull();
  });

  it('never splits a character of two units', () => {
    const edit = canonical('x😀', [{ start: 1, end: 3, after: '😁' }]);
    expect(edit).toEqual({ start: 1, end: 3, after: '😁' });
  });

  it('has the same result as the edits, and is equal for equal results', () => {
    const text = fc.string({ unit: 'grapheme', maxLength: 12 });
    fc.assert(
      fc.property(text, text, text, text, (head, before, after, tail) => {
        const source = head + before + tail;
        const small = [{ start: head.length, end: head.length + before.length, after }];
        const whole = [{ start: 0, end: source.length, after: head + after + tail }];
        const edit = canonical(source, small);
        expect(canonical(source, whole)).toEqual(edit);
        if (edit === null) expect(before).toBe(after);
        else expect(apply(source, [edit])).toBe(head + after + tail);
      }),
    );
  });
});
