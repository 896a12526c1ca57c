import { EventEmitter } from 'node:events';
import { afterEach, beforeEach, expect, it, vi } from 'vitest';
import { chunkOf, Streamed, type Chunk } from './providers/index.ts';
import type { Attempt } from './route.ts';
import { chunksOf } from './stream.ts';

beforeEach(() => void vi.useFakeTimers());
afterEach(() => {
  vi.useRealTimers();
  vi.clearAllMocks();
});

const fail = vi.fn((error: unknown) => error);
const attempt = {
  ask: { model: { name: 'expert', engine: 'OpenAI' }, signal: new AbortController().signal },
  arriving: new EventEmitter(),
  fail,
  done: () => undefined,
} as unknown as Attempt;

it.each([
  ['has ended waits for its usage alone', 'stop', 5_000, 'an end'],
  ['goes on waits longer', null, 5_000, 'nothing'],
  ['goes on waits as long as it may', null, 60_000, 'ProviderTimeout'],
])('a stream that %s', async (_what, finish, ms, outcome) => {
  const never = { next: () => new Promise<IteratorResult<Chunk>>(() => undefined) };
  const stream = { attempt, first: [chunkOf('m', { content: 'Hello.' }, finish)], rest: never };
  let ended = 'nothing';
  const read = async (): Promise<void> => {
    for await (const chunk of chunksOf(stream, new Streamed(), 60_000)) expect(chunk.choices).toHaveLength(1);
  };
  read().then(
    () => (ended = 'an end'),
    (error: unknown) => (ended = String((error as { readonly code?: unknown }).code)),
  );
  await vi.advanceTimersByTimeAsync(ms - 1);
  expect(ended).toBe('nothing');
  await vi.advanceTimersByTimeAsync(1);
  expect(ended).toBe(outcome);
  // A replica that failed is asked last for a while.
  expect(fail).toHaveBeenCalledTimes(outcome === 'ProviderTimeout' ? 1 : 0);
});
