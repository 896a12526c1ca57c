import type { Bearer } from '@agentfleet/protocol/tokens';
import { handOn, inSpan, outgoingHeaders, spanHeader, spanOfHeader } from '@agentfleet/protocol/tracing';
import { request, type Dispatcher } from 'undici';
import { AttemptFailure } from '../base/failure.ts';

/** Largest answer, bytes. */
const maxAnswerBytes = 16 * 1024 * 1024;

/** One request to an inference server. */
interface Posting {
  /** Name of the expert, for messages. */
  readonly name: string;
  /** Origin, without a path. */
  readonly url: string;
  readonly route: string;
  readonly body: unknown;
  readonly dispatcher?: Dispatcher | undefined;
  /** Asked for each request: the kubelet renews its token. */
  readonly bearer?: Bearer | undefined;
}

/** Its answer, whatever the status is. */
interface Posted {
  readonly status: number;
  readonly text: string;
  /** Retry-After of the server, ms; 0 when absent. */
  readonly retryAfterMs: number;
}

/** Posts JSON and reads the answer. Rejects with undici's error, the signal's reason, or ExpertMalformed for an endless answer. */
export function post(posting: Posting, signal: AbortSignal): Promise<Posted> {
  const { name, route } = posting;
  const attributes = { 'agentfleet.expert': name, 'http.route': route };
  return inSpan(`ask ${name}`, { kind: 'Client', attributes }, async (span) => {
    const posted = await send(posting, signal);
    span.set({ 'http.response.status_code': posted.status });
    return posted;
  });
}

async function send({ name, url, route, body, dispatcher, bearer }: Posting, signal: AbortSignal): Promise<Posted> {
  const authorization = await bearer?.();
  const response = await request(new URL(route, url), {
    method: 'POST',
    headers: { 'content-type': 'application/json', ...outgoingHeaders(), ...(authorization !== undefined && { authorization }) },
    body: JSON.stringify(body),
    signal,
    headersTimeout: 0, // the caller's deadline counts
    bodyTimeout: 0,
    ...(dispatcher === undefined ? {} : { dispatcher }),
  });
  const text = await readBounded(response, name);
  handOn('agentfleet-expert', (traceId) => spanOfHeader(response.headers[spanHeader], traceId));
  const seconds = Number(response.headers['retry-after'] ?? 0);
  return { status: response.statusCode, text, retryAfterMs: Number.isFinite(seconds) ? Math.max(0, seconds) * 1000 : 0 };
}

async function readBounded(response: Dispatcher.ResponseData, expert: string): Promise<string> {
  const chunks: Buffer[] = [];
  let bytes = 0;
  for await (const chunk of response.body) {
    const part = Buffer.from(chunk as Uint8Array);
    bytes += part.length;
    if (bytes > maxAnswerBytes) {
      const message = `expert ${expert} answered more than ${maxAnswerBytes} bytes; ask for fewer candidates`;
      throw new AttemptFailure('Infrastructure', 'ExpertMalformed', message);
    }
    chunks.push(part);
  }
  return Buffer.concat(chunks).toString('utf8');
}
