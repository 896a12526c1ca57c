import { malformed } from './failure.ts';
import type { Ask, Chunk } from './provider.ts';

/** The two ways in which one API reads an answer to a request for a stream. */
interface Reader {
  /** Its events. */
  readonly events: (response: Response) => AsyncIterable<Chunk>;
  /** A JSON value in the place of events: not every server streams what it is asked to. */
  readonly whole: (value: unknown) => Iterable<Chunk>;
}

/** Yields the chunks of an answer to a request for a stream. @throws GatewayError for one that is none */
export async function* chunksOf(response: Response, ask: Ask, { events, whole }: Reader): AsyncIterable<Chunk> {
  const type = response.headers.get('content-type') ?? '';
  if (response.body === null) throw malformed(ask, `without a body (status ${response.status})`);
  if (/^text\/html/i.test(type)) throw malformed(ask, 'with a web page', false);
  if (!/^application\/(?:[-.\w]+\+)?json\b/i.test(type)) {
    yield* events(response);
    return;
  }
  const text = await response.text();
  // Some servers and proxies give a stream the type of JSON.
  if (/^\s*(?:data|event|id|retry)?:/.test(text)) yield* events(new Response(text));
  else yield* whole(JSON.parse(text));
}
