import { describe, expect, it } from 'vitest';
import type { GenerateRequest } from '@agentfleet/protocol/inference';
import type { Engine, Generated, Outcome } from '../engines/engine.ts';
import { example } from '../engines/synth/example.ts';
import { BatchQueue } from './index.ts';

const empty: Generated = {
  candidates: [],
  returnedMass: 0,
  exhausted: true,
  truncated: false,
  entropyNats: 0,
  margin: null,
  stats: { parsed: 0, considered: 0, millis: 0 },
};

/** An engine that answers when it is told to. */
class HeldEngine implements Engine {
  readonly name = 'Synth';
  readonly roles = [];
  readonly modelDigest = '';
  readonly learned = false;
  readonly languages = [];
  readonly batches: string[][] = [];
  readonly #held: (() => void)[] = [];
  outcome: (request: GenerateRequest) => Outcome = () => ({ generated: empty });

  async generate(batch: readonly GenerateRequest[], signal: AbortSignal): Promise<readonly Outcome[]> {
    this.batches.push(batch.map(({ requestId }) => requestId));
    await new Promise<void>((resolve, reject) => {
      this.#held.push(resolve);
      signal.addEventListener('abort', () => reject(new Error('aborted')));
    });
    return batch.map(this.outcome);
  }
  answer(): void {
    this.#held.shift()?.();
  }
  prove = () => Promise.resolve();
  close = () => Promise.resolve();
}

const ask = (requestId: string): GenerateRequest => ({ ...example, requestId });
const never = new AbortController().signal;
const turn = () => new Promise((resolve) => setImmediate(resolve));

function queue(limit = 2) {
  const engine = new HeldEngine();
  return { engine, queue: new BatchQueue({ engine, limit, batchLimit: 2, now: () => 0 }) };
}

describe('the queue', () => {
  it('gives the engine batches in the order of arrival', async () => {
    const { engine, queue: held } = queue(8);
    const answers = ['a', 'b', 'c'].map((id) => held.submit(ask(id), never));
    await turn();
    engine.answer();
    await turn();
    engine.answer();
    await Promise.all(answers);
    expect(engine.batches).toEqual([['a', 'b'], ['c']]);
  });

  it('refuses at once when it is full, and says when to come again', async () => {
    const { engine, queue: held } = queue(2);
    const first = held.submit(ask('a'), never);
    await turn();
    const others = [held.submit(ask('b'), never), held.submit(ask('c'), never)];
    await expect(held.submit(ask('d'), never)).rejects.toMatchObject({ code: 'AF_QUEUE_FULL' });
    expect(held.retryAfterSeconds).toBeGreaterThanOrEqual(1);
    engine.answer();
    await turn();
    engine.answer();
    await Promise.all([first, ...others]);
  });

  it('refuses one request of a batch without the others', async () => {
    const { engine, queue: held } = queue();
    engine.outcome = ({ requestId }) => (requestId === 'a' ? { error: new Error('no') } : { generated: empty });
    const answers = Promise.allSettled([held.submit(ask('a'), never), held.submit(ask('b'), never)]);
    await turn();
    engine.answer();
    expect((await answers).map(({ status }) => status)).toEqual(['rejected', 'fulfilled']);
  });

  it('never starts a request whose caller left, and stops one that all callers left', async () => {
    const { engine, queue: held } = queue();
    const [one, other] = [new AbortController(), new AbortController()];
    const running = held.submit(ask('a'), one.signal);
    await turn();
    const waiting = held.submit(ask('b'), other.signal);
    other.abort();
    one.abort();
    await expect(running).rejects.toThrow('aborted');
    await expect(waiting).rejects.toMatchObject({ code: 'AF_CANCELLED' });
    expect(engine.batches).toEqual([['a']]);
  });

  it('finishes what waits when it closes, and takes nothing more', async () => {
    const { engine, queue: held } = queue();
    const answer = held.submit(ask('a'), never);
    await turn();
    const closed = held.close(never);
    await expect(held.submit(ask('b'), never)).rejects.toMatchObject({ code: 'AF_STOPPING' });
    engine.answer();
    await Promise.all([answer, closed]);
  });

  it('gives up what waits when closing takes too long', async () => {
    const { queue: held } = queue();
    const running = held.submit(ask('a'), never);
    await turn();
    const waiting = held.submit(ask('b'), never);
    const settled = Promise.allSettled([running, waiting]);
    await held.close(AbortSignal.abort());
    expect((await settled).map(({ status }) => status)).toEqual(['rejected', 'rejected']);
  });
});
