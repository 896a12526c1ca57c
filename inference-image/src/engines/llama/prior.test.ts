import { expect, test } from 'vitest';
import type { PriorRequest } from '@agentfleet/protocol/inference';
import { type Likelihood, prior } from './likelihood.ts';
import { replacing } from '../testing/request.ts';

/** Tokens are characters; each has a fixed ln p. Records its requests. */
class Letters implements Likelihood {
  evaluated = 0;
  readonly asked: string[] = [];
  readonly tokenize = (text: string): readonly number[] => Array.from(text, (letter) => letter.codePointAt(0) ?? 0);
  readonly reset = (): Promise<void> => Promise.resolve();

  logProbs(tokens: readonly number[], from: number, count: number): Promise<readonly number[]> {
    this.evaluated += count;
    const letters = tokens.slice(from, from + count).map((code) => String.fromCodePoint(code));
    this.asked.push(letters.join(''));
    return Promise.resolve(letters.map((letter) => ({ '+': -1, '-': -3, '*': -8 })[letter] ?? -0.5));
  }
}

const file = { path: 'é.py', content: '# é\ndef add(a, b):\n    return a - b\n\n\nlimit = 3\n' };
const { signal } = new AbortController();

function asked(edits: readonly PriorRequest['candidates'][number]['edits'][], more: Partial<PriorRequest> = {}): PriorRequest {
  const candidates = edits.map((one, at) => ({ id: `c${at}`, edits: one }));
  return { requestId: 'test', files: [file], candidates, windowTokens: 4, budgetMillis: 1000, ...more };
}

const gains = async (request: PriorRequest, likelihood = new Letters()): Promise<readonly (number | null)[]> =>
  (await prior(request, likelihood, { now: () => 0, signal })).scores.map(({ gainNats }) => gainNats);

test('a gain is the difference over the window that begins at the first token that differs', async () => {
  const letters = new Letters();
  const request = asked([[replacing(file, ' - ', ' + ')], [replacing(file, ' - ', ' * ')]]);
  expect(await gains(request, letters)).toEqual([2, -5]);
  // The original text is evaluated once, for both.
  expect(letters.asked).toEqual(['- b\n', '+ b\n', '* b\n']);
});

test('edits of one candidate add up, whatever place they have', async () => {
  expect(await gains(asked([[replacing(file, ' - ', ' + '), replacing(file, '3', '+')]]))).toEqual([1.5]);
});

test('a text is not likelier for being shorter', async () => {
  const end = replacing(file, 'limit = 3\n', '');
  expect(await gains(asked([[end]], { windowTokens: 16 }))).toEqual([0]);
  expect(await gains(asked([[replacing(file, ' = 3\n', '\n')]], { windowTokens: 16 }))).toEqual([0]);
});

test('the budget ends the work after the first candidates, and the answer reports it', async () => {
  let time = 0;
  const likelihood = new Letters();
  const edits = [replacing(file, ' - ', ' + ')];
  const answer = await prior(asked(Array.from({ length: 40 }, () => edits)), likelihood, { now: () => (time += 100), signal });
  const measured = answer.scores.filter(({ gainNats }) => gainNats !== null);
  expect(answer.truncated).toBe(true);
  expect(measured.length).toBeGreaterThan(0);
  expect(measured.map(({ id }) => id)).toEqual(answer.scores.slice(0, measured.length).map(({ id }) => id));
});

test('a cancelled request ends with the reason of the signal', async () => {
  const stop = new AbortController();
  stop.abort(new Error('gone'));
  const request = asked([[replacing(file, ' - ', ' + ')]]);
  await expect(prior(request, new Letters(), { now: () => 0, signal: stop.signal })).rejects.toThrow('gone');
});

test.each([
  ['of another file', { path: 'other.py' }, /candidates\[0\]\.edits\[0\]: other\.py is not among the files/],
  ['of another content', { expectedSha256: 'a'.repeat(64) }, /has sha256 .*, not a+/],
  ['whose range holds something else', { before: ' + ' }, /are not what "before" says/],
])('an edit %s is refused by name', async (_, change, message) => {
  await expect(gains(asked([[{ ...replacing(file, ' - ', ' + '), ...change }]]))).rejects.toThrow(message);
});
