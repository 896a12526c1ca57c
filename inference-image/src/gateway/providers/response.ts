import { malformed } from './failure.ts';
import type { Ask } from './provider.ts';

const typeOf = ({ headers }: Response): string => headers.get('content-type') ?? '';

/** Reports whether an answer is one JSON value. */
export const isJson = (response: Response): boolean => /^application\/(?:[-.\w]+\+)?json\b/i.test(typeOf(response));

/** Returns an answer that may be a stream. @throws GatewayError for one that is none */
export function streamOf(response: Response, ask: Ask): Response {
  if (response.body === null) throw malformed(ask, `without a body (status ${response.status})`);
  if (/^text\/html/i.test(typeOf(response))) throw malformed(ask, 'with a web page', false);
  return response;
}
