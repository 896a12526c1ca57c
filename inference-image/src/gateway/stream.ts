import { GatewayError } from './providers/gatewayError.ts';
import { chunkOf, malformed, providerFailure, says, type Chunk, type Streamed } from './providers/index.ts';
import type { Attempt } from './route.ts';

/** A stream with the first part of its answer: from here on nothing is retried. */
export interface OpenStream {
  readonly attempt: Attempt;
  /** The chunks up to that part: most servers send the role of the message at once, before they know whether they can answer. */
  readonly first: readonly Chunk[];
  readonly rest: AsyncIterator<Chunk>;
}

/** Chunks that are held back until a part of the answer comes. */
const mostHeld = 64;

/**
 * Waits for the first part of an answer, as long as the attempt may take: models read long prompts, and think, in silence.
 * @throws GatewayError, or the reason of the caller's signal
 */
export async function openStream(attempt: Attempt, chunks: AsyncIterable<Chunk>): Promise<OpenStream> {
  const rest = chunks[Symbol.asyncIterator]();
  const first: Chunk[] = [];
  try {
    while (first.length < mostHeld && !first.some(({ choices }) => choices.some(says))) {
      const next = await rest.next();
      if (next.done === true) throw malformed(attempt.ask, 'its stream ends before an answer');
      first.push(next.value);
    }
    return { attempt, first, rest };
  } catch (error) {
    const usage = first.findLast((chunk) => (chunk.usage ?? null) !== null)?.usage;
    const failure = attempt.fail(error);
    throw failure instanceof GatewayError && failure.usage === undefined ? failure.with({ usage: usage ?? undefined }) : failure;
  }
}

/** Time for the usage after the end of an answer, ms: some servers neither say that this is all nor end the connection. */
const lastMs = 5000;

/** Failures of a connection or a server. */
const ofTheWay: ReadonlySet<GatewayError['code']> = new Set(['ProviderUnreachable', 'ProviderTimeout', 'ProviderMalformed']);

/**
 * Yields the chunks of a stream up to its end, and then the provider's state. The usage is kept in `streamed`. An answer that has ended is
 * whole, however its connection ends.
 * @throws GatewayError for a stream that becomes silent or ends in the middle
 */
export async function* chunksOf(stream: OpenStream, streamed: Streamed, silenceMs: number): AsyncIterable<Chunk> {
  const { attempt } = stream;
  const { model } = attempt.ask;
  try {
    for await (const chunk of arrivals(stream, () => (streamed.isWhole ? Math.min(lastMs, silenceMs) : silenceMs))) {
      streamed.add(chunk);
      const { usage: _usage, ...bare } = chunk;
      if (bare.choices.length > 0) yield { ...bare, model: model.name };
    }
    if (!streamed.isWhole) throw malformed(attempt.ask, 'its stream ends in the middle of an answer');
  } catch (error) {
    // What comes of the connection of a whole answer says nothing about its replica.
    const isLate = streamed.isWhole && !attempt.ask.signal.aborted && ofTheWay.has(providerFailure(error, attempt.ask).code);
    if (!isLate) throw attempt.fail(error);
  } finally {
    attempt.done();
  }
  yield* statesOf(attempt, streamed);
}

/** @param patience for the next chunk, ms */
async function* arrivals({ attempt, first, rest }: OpenStream, patience: () => number): AsyncIterable<Chunk> {
  yield* first;
  for (;;) {
    const next = await soon(rest.next(), patience(), attempt);
    if (next.done === true) return;
    yield next.value;
  }
}

/** The state of servers of the OpenAI API is known when the whole message has arrived. */
function* statesOf({ ask: { model } }: Attempt, streamed: Streamed): Iterable<Chunk> {
  if (model.engine !== 'OpenAI') return;
  for (const { index, message } of streamed.choices(model.model ?? ''))
    if (message.provider_state !== undefined) yield chunkOf(model.name, { provider_state: message.provider_state }, null, index);
}

/** Waits while bytes arrive: what yields no chunk (a ping, a comment, a signature) is no silence. The attempt has its own time limit. */
async function soon<T>(wanted: Promise<T>, silenceMs: number, { ask: { model }, arriving }: Attempt): Promise<T> {
  const silent = Promise.withResolvers<never>();
  const timer = setTimeout(() => {
    silent.reject(
      new GatewayError('ProviderTimeout', `${model.name}: its stream was silent for ${silenceMs / 1000} s; look at the provider`),
    );
  }, silenceMs);
  const onBytes = (): void => void timer.refresh();
  arriving.on('bytes', onBytes);
  try {
    return await Promise.race([wanted, silent.promise]);
  } finally {
    arriving.off('bytes', onBytes);
    clearTimeout(timer);
  }
}
