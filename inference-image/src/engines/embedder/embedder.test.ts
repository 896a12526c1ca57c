import { afterAll, beforeAll, describe, expect, it } from 'vitest';
import { dimensions, installedFiles, SentenceEncoder } from './encoder.ts';
import { Tokenizer } from './encoder.ts';

const never = new AbortController().signal;
let encoder: SentenceEncoder;
beforeAll(async () => {
  encoder = await SentenceEncoder.load(await installedFiles());
});
afterAll(() => encoder.close());

const embed = (text: string): Promise<readonly number[]> => encoder.embed(text, never);
const dot = (a: readonly number[], b: readonly number[]): number => a.reduce((sum, x, at) => sum + x * (b[at] ?? NaN), 0);

describe('the sentence encoder', () => {
  it.each([
    ['The parser drops the last field.', 'The final column is lost when a line is parsed.', 'The cat sleeps on the warm roof.'],
    ['How do I install the dependencies?', 'Which command sets up the required packages?', 'The moon is far away from here.'],
    ['A user could not log in.', 'Somebody failed to sign in to their account.', 'Mix flour and butter until smooth.'],
    ['The total is off by one.', 'The sum is too large by one.', 'She plays the violin in the evening.'],
  ])('puts "%s" nearer to what means the same', async (text, related, other) => {
    const [one, near, far] = await Promise.all([embed(text), embed(related), embed(other)]);
    expect(dot(one, near)).toBeGreaterThan(dot(one, far) + 0.1);
  });

  it('gives vectors of length 1, the same each time', async () => {
    const vector = await embed('Retry with a longer pause.');
    expect(vector).toHaveLength(dimensions);
    expect(dot(vector, vector)).toBeCloseTo(1, 9);
    await embed('Something else in between.');
    expect(await embed('Retry with a longer pause.')).toEqual(vector);
  });

  it('looks at all of a long text', async () => {
    const start = 'the queue is full and the caller waits '.repeat(40);
    const [one, other] = await Promise.all([embed(`${start} apples pears plums`), embed(`${start} kernel panic at boot`)]);
    expect(dot(one, other)).toBeLessThan(1 - 1e-6);
  });

  it('accepts text outside of the vocabulary, and stops when no caller waits', async () => {
    for (const text of [' ', '\u{1F9EA}\u{1F9EA}', '\u0000', '汉字']) expect(dot(await embed(text), await embed(text))).toBeCloseTo(1, 9);
    await expect(encoder.embed('x', AbortSignal.abort())).rejects.toThrow();
  });

  it('stops within a long text when its caller leaves', async () => {
    const left = new AbortController();
    setImmediate(() => left.abort(new Error('the caller left')));
    await expect(encoder.embed('the queue is full and the caller waits '.repeat(200), left.signal)).rejects.toThrow('the caller left');
  });
});

describe('the tokenizer', () => {
  const none = ['', 0] as const;
  const pieces = [
    none,
    none,
    none,
    none,
    none,
    none,
    ['\u2581a', -1],
    ['b', -2],
    ['c', -2],
    ['bc', -3],
    ['\u2581', -5],
    ['a', -5],
  ] as const;
  const tokenizer = new Tokenizer(pieces);

  it('takes the likeliest pieces, not the first ones', () => {
    expect(tokenizer.encode('abc')).toEqual([6, 9]);
    expect(tokenizer.encode('a  a\nb')).toEqual([6, 6, 10, 7]);
  });

  it('joins unknown text, and never ends empty', () => {
    expect(tokenizer.encode('xyzb')).toEqual([10, 0, 7]);
    expect(tokenizer.encode(' ')).toEqual([10]);
  });
});
