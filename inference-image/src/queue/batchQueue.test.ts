import { describe, expect, it } from 'vitest';
import type { Answer } from '../base/served.ts';
import { BatchQueue } from './batchQueue.ts';

/** An engine that answers on demand. */
class HeldEngine {
  readonly batches: string[][] = [];
  readonly #held: (() => void)[] = [];
  outcome: (requestId: string) => Answer<string> = (requestId) => ({ answer: requestId });

  readonly ability = async (batch: readonly string[], signal: AbortSignal): Promise<readonly Answer<string>[]> => {
    this.batches.push([...batch]);
    await new Promise<void>((resolve, reject) => {
      this.#held.push(resolve);
      signal.addEventListener('abort', () => reject(new Error('aborted')));
    });
    return batch.map(this.outcome);
  };
  answer(): void {
    this.#held.shift()?.();
  }
}

const never = new AbortController().signal;
const turn = () => new Promise((resolve) => setImmediate(resolve));

function queue(limit = 2) {
  const engine = new HeldEngine();
  return { engine, queue: new BatchQueue({ answer: engine.ability, limit, batchLimit: 2, now: () => 0 }) };
}

describe('the queue', () => {
  it('waits a moment for other callers, no longer than until the batch is full', async () => {
    const engine = new HeldEngine();
    let end = (): void => undefined;
    const linger = (signal: AbortSignal): Promise<void> =>
      new Promise((resolve) => {
        end = resolve;
        signal.addEventListener('abort', () => resolve());
      });
    const held = new BatchQueue({ answer: engine.ability, limit: 8, batchLimit: 2, now: () => 0, linger });
    const first = held.submit('a', never);
    await turn();
    expect(engine.batches).toEqual([]);
    const others = [held.submit('b', never), held.submit('c', never)];
    await turn();
    expect(engine.batches).toEqual([['a', 'b']]);
    engine.answer();
    await turn();
    expect(engine.batches).toHaveLength(1);
    end();
    await turn();
    engine.answer();
    expect(await Promise.all([first, ...others])).toEqual(['a', 'b', 'c']);
  });

  it('gives the engine batches in the order of arrival', async () => {
    const { engine, queue: held } = queue(8);
    const answers = ['a', 'b', 'c'].map((id) => held.submit(id, never));
    await turn();
    engine.answer();
    await turn();
    engine.answer();
    await Promise.all(answers);
    expect(engine.batches).toEqual([['a', 'b'], ['c']]);
  });

  it('refuses at once when it is full, with the time of a retry', async () => {
    const { engine, queue: held } = queue(2);
    const first = held.submit('a', never);
    await turn();
    const others = [held.submit('b', never), held.submit('c', never)];
    await expect(held.submit('d', never)).rejects.toMatchObject({ code: 'AF_QUEUE_FULL' });
    expect(held.retryAfterSeconds).toBeGreaterThanOrEqual(1);
    engine.answer();
    await turn();
    engine.answer();
    await Promise.all([first, ...others]);
  });

  it('refuses one request of a batch without the others', async () => {
    const { engine, queue: held } = queue();
    engine.outcome = (requestId) => (requestId === 'a' ? { error: new Error('no') } : { answer: requestId });
    const answers = Promise.allSettled([held.submit('a', never), held.submit('b', never)]);
    await turn();
    engine.answer();
    expect((await answers).map(({ status }) => status)).toEqual(['rejected', 'fulfilled']);
  });

  it('never starts a request whose caller left, and stops one that all callers left', async () => {
    const { engine, queue: held } = queue();
    const [one, other] = [new AbortController(), new AbortController()];
    const running = held.submit('a', one.signal);
    await turn();
    const waiting = held.submit('b', other.signal);
    other.abort();
    one.abort();
    await expect(running).rejects.toThrow('aborted');
    await expect(waiting).rejects.toMatchObject({ code: 'AF_CANCELLED' });
    expect(engine.batches).toEqual([['a']]);
  });

  it('finishes waiting requests when it closes, and takes no more', async () => {
    const { engine, queue: held } = queue();
    const answer = held.submit('a', never);
    await turn();
    const closed = held.close(never);
    await expect(held.submit('b', never)).rejects.toMatchObject({ code: 'AF_STOPPING' });
    engine.answer();
    await Promise.all([answer, closed]);
  });

  it('drops waiting requests when closing takes too long', async () => {
    const { queue: held } = queue();
    const running = held.submit('a', never);
    await turn();
    const waiting = held.submit('b', never);
    const settled = Promise.allSettled([running, waiting]);
    await held.close(AbortSignal.abort());
    expect((await settled).map(({ status }) => status)).toEqual(['rejected', 'rejected']);
  });
});
