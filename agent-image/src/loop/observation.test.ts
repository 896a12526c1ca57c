import * as fc from 'fast-check';
import { describe, expect, it } from 'vitest';
import { plain } from '../tools/tool.ts';
import { fitted, observationTokens, observed, textTokens } from './observation.ts';

describe('what a model sees of output', () => {
  it.for<[string, string, string]>([
    ['plain text', 'a\tb\nc', 'a\tb\nc'],
    ['colours', '\u001b[1;31mFAIL\u001b[0m x', 'FAIL x'],
    ['a title of the window', '\u001b]0;title\u0007text', 'text'],
    ['a link', '\u001b]8;;http://x\u001b\\here\u001b]8;;\u001b\\', 'here'],
    ['a title that never ends', '\u001b]0;title\nnext', '\nnext'],
    ['one-byte introducers', '\u009b31mred', 'red'],
    ['a progress bar', '10 %\r50 %\r100 %\ndone', '100 %\ndone'],
    ['lines of Windows', 'a\r\nb\r\n', 'a\nb\n'],
    ['bold of manual pages', 'N\bNA\bA', 'NA'],
    ['bells and zeros', 'a\u0000b\u0007c\u001b', 'abc'],
    ['text that turns', 'a\u202eb', 'a\\u{202e}b'],
    ['hidden tags', 'a\u{e0041}b', 'a\\u{e0041}b'],
    ['width zero', 'a\u200bb', 'a\\u{200b}b'],
    ['emoji with joiners', '👩\u200d💻', '👩\u200d💻'],
    ['half a character', 'a\ud83d', 'a\ufffd'],
  ])('cleans %s', ([, raw, shown]) => {
    expect(plain(raw)).toBe(shown);
  });

  it('shows what fits whole, and asks for no handle', () => {
    const text = 'x'.repeat(observationTokens * 4);
    expect(
      observed(text, {
        handle: () => {
          throw new Error('asked');
        },
      }),
    ).toBe(text);
  });

  it('shows a text that fits beside others whole, and pages of one that can be read on', () => {
    const text = 'line\n'.repeat(1200);
    expect(observed(text, { tokens: 1000, whole: 1500 })).toBe(text);
    expect(observed(text, { tokens: 1000, whole: 1400 })).toContain('are not shown');
    const within = (characters: number): string => `${text.slice(0, characters)}[reads on]`;
    expect(fitted(text, within, { tokens: 1000, whole: 1500 })).toBe(text);
    expect(fitted(text, within, { tokens: 1000, correction: 2 })).toBe(within(2000));
  });

  it('shows what is a few lines too long whole', () => {
    const text = 'x'.repeat(observationTokens * 4 + 700);
    expect(observed(text)).toBe(text);
    expect(observed(text.repeat(2))).toContain('are not shown');
  });

  it('cuts megabytes to head and tail, names what is missing and what reads it', () => {
    const lines = Array.from({ length: 100_000 }, (_, n) => `line ${n} of the output`);
    const shown = observed(lines.join('\n'), { handle: () => 'out-1' });
    expect(shown.startsWith('line 0 of the output\nline 1 ')).toBe(true);
    expect(shown.endsWith('\nline 99999 of the output')).toBe(true);
    const [head = '', tail = ''] = shown.split(/\n\[… .* …\]\n/);
    expect(head.length / (head.length + tail.length)).toBeCloseTo(0.6, 1);
    const missing = 100_000 - head.split('\n').length - tail.split('\n').length;
    const reported =
      /\[… about (\d+) of (\d+) tokens \((\d+) lines\) are not shown; read_file \{handle: "out-1", from_line: (\d+)\} reads it …\]/.exec(
        shown,
      );
    expect(Math.abs(Number(reported?.[3]) - missing)).toBeLessThanOrEqual(1);
    expect(Number(reported?.[4])).toBe(head.split('\n').length + 1);
    expect(textTokens(shown)).toBeLessThan(observationTokens + 60);
  });

  it('cuts one line of megabytes, of any script, within the bound', () => {
    for (const text of ['x'.repeat(3_000_000), '汉'.repeat(1_000_000), '😀'.repeat(500_000), `${'\r\u001b['.repeat(500_000)}x`]) {
      const shown = observed(text, { tokens: 100 });
      expect(textTokens(shown)).toBeLessThan(160);
      expect(shown).not.toContain('\ufffd');
    }
    expect(observed('y'.repeat(9000), { tokens: 100 })).toContain('the rest was not kept');
  });

  it('never leaves what a terminal obeys, and never exceeds the bound', () => {
    const pieces = fc.constantFrom('\u001b', '[', ']', '31m', '\r', '\n', '\b', 'a', 'é', '😀', '\u202e', '\u0007', '\u009b', ' ');
    fc.assert(
      fc.property(fc.array(pieces, { maxLength: 400 }), fc.integer({ min: 20, max: 80 }), (parts, tokens) => {
        const shown = observed(parts.join(''), { tokens });
        // oxlint-disable-next-line no-control-regex
        expect(shown).not.toMatch(/[\u0000-\u0008\u000b-\u001f\u007f-\u009f\u202e]/);
        expect(textTokens(shown)).toBeLessThan(tokens + 60);
      }),
    );
  });
});
