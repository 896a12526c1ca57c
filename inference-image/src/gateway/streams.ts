import { GatewayError } from './providers/gatewayError.ts';
import { chunkOf, malformed, type Chunk, type Streamed } from './providers/index.ts';
import type { Attempt } from './route.ts';

/** A stream whose first chunk has come: from here on nothing is tried again. */
export interface OpenStream {
  readonly attempt: Attempt;
  readonly first: Chunk;
  readonly rest: AsyncIterator<Chunk>;
}

/** Waits for the first chunk. @throws GatewayError, or the reason of the caller's signal */
export async function openStream(attempt: Attempt, chunks: AsyncIterable<Chunk>): Promise<OpenStream> {
  const rest = chunks[Symbol.asyncIterator]();
  try {
    const first = await rest.next();
    if (first.done === true) throw malformed(attempt.ask, 'its stream is empty');
    return { attempt, first: first.value, rest };
  } catch (error) {
    throw attempt.fail(error);
  }
}

/**
 * The chunks of a stream up to its end, and after them what the provider wants back. The usage is kept in `streamed`.
 * @throws GatewayError for a stream that falls silent or ends in the middle
 */
export async function* chunksOf({ attempt, first, rest }: OpenStream, streamed: Streamed, silenceMs: number): AsyncIterable<Chunk> {
  const { model } = attempt.ask;
  try {
    for (let next: IteratorResult<Chunk> = { value: first }; next.done !== true; next = await soon(rest.next(), silenceMs, model.name)) {
      streamed.add(next.value);
      const { usage: _usage, ...chunk } = next.value;
      if (chunk.choices.length > 0) yield { ...chunk, model: model.name };
    }
    if (!streamed.isWhole) throw malformed(attempt.ask, 'its stream ends in the middle of an answer');
    yield* statesOf(attempt, streamed);
  } catch (error) {
    throw attempt.fail(error);
  } finally {
    attempt.done();
  }
}

/** What servers of the OpenAI API want back is known when all of a message has come. */
function* statesOf({ ask: { model } }: Attempt, streamed: Streamed): Iterable<Chunk> {
  if (model.engine !== 'OpenAI') return;
  for (const { index, message } of streamed.choices(model.model ?? ''))
    if (message.provider_state !== undefined) yield chunkOf(model.name, { provider_state: message.provider_state }, null, index);
}

async function soon<T>(wanted: Promise<T>, silenceMs: number, name: string): Promise<T> {
  const silent = Promise.withResolvers<never>();
  const timer = setTimeout(() => {
    silent.reject(new GatewayError('ProviderTimeout', `${name}: its stream was silent for ${silenceMs / 1000} s; look at the provider`));
  }, silenceMs);
  try {
    return await Promise.race([wanted, silent.promise]);
  } finally {
    clearTimeout(timer);
  }
}
