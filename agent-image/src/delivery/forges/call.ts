import type { FailureClass, Reason } from '@agentfleet/protocol/api';
import { AttemptFailure, causesOf, reasonOf } from '../../base/failure.ts';
import { Forbidden, originFetch, type Dialer } from '../../egress/index.ts';
import { fieldsOf, listOf, textOf } from '@agentfleet/protocol/text';
import { jsonIn } from '../../base/text.ts';
import { scrub } from '../../workspace/index.ts';

/** One answer of a forge's API. */
export interface Answer {
  readonly status: number;
  /** Undefined where it is no JSON. */
  readonly body: unknown;
  /** Time that it asks to wait for a limit of its rate, ms; undefined where it names none. */
  readonly retryAfterMs: number | undefined;
}

/** The server takes no more requests for a while. */
export class RateLimited extends AttemptFailure {
  readonly retryAfterMs: number;

  constructor(message: string, retryAfterMs: number) {
    super('Infrastructure', 'RemoteUnavailable', message);
    this.retryAfterMs = retryAfterMs;
  }
}

/** Asks the API; the path is below its root. @throws AttemptFailure of class Infrastructure when no forge answers */
export type Call = (method: 'GET' | 'POST', path: string, body?: Readonly<Record<string, unknown>>) => Promise<Answer>;

export interface CallOptions {
  readonly root: string;
  readonly headers: Readonly<Record<string, string>>;
  /** Texts that no message may hold. */
  readonly secrets: readonly string[];
  readonly dialer: Dialer;
  /** PEM certificates that are trusted; default: those of Node. */
  readonly authorities?: string | undefined;
  readonly signal: AbortSignal;
  /** For tests. Default: through the dialer. */
  readonly fetch?: typeof globalThis.fetch | undefined;
}

const maxAnswerBytes = 4 * 1024 * 1024;
const answerMs = 30_000;

/** A way to one API, through the worker's egress. */
export async function withCall<T>(options: CallOptions, use: (call: Call) => Promise<T>): Promise<T> {
  const { root, headers, dialer, authorities, signal } = options;
  const bounds = { dialer, maxBytes: maxAnswerBytes, signal, ...(authorities !== undefined && { authorities }) };
  const way = options.fetch === undefined ? originFetch(root, bounds) : { fetch: options.fetch, close: () => Promise.resolve() };
  const ask = async (to: URL, init: RequestInit) => {
    try {
      const answer = await way.fetch(to.href, { ...init, redirect: 'manual' });
      return { status: answer.status, headers: answer.headers, text: await answer.text() };
    } catch (error) {
      signal.throwIfAborted();
      throw unreachable(`${init.method} ${to.href}`, error, options.secrets);
    }
  };
  const call: Call = async (method, path, body) => {
    const init: RequestInit = {
      method,
      headers: {
        accept: 'application/json',
        'user-agent': 'agentfleet',
        ...headers,
        ...(body && { 'content-type': 'application/json' }),
      },
      ...(body && { body: JSON.stringify(body) }),
      signal: AbortSignal.any([signal, AbortSignal.timeout(answerMs)]),
    };
    let to = new URL(`${root}${path}`);
    for (let redirects = 0; ; redirects += 1) {
      const { status, headers: own, text } = await ask(to, init);
      const location = status >= 300 && status < 400 ? own.get('location') : null;
      if (location === null) return { status, body: jsonIn(text), retryAfterMs: retryAfterOf(own) };
      to = movedTo({ status, location }, to, redirects);
    }
  };
  try {
    return await use(call);
  } finally {
    await way.close();
  }
}

const maxRedirects = 3;
/** Redirects that keep the method. Others lead to a page, as one that asks for a user. */
const followed: ReadonlySet<number> = new Set([301, 307, 308]);

/** Returns a renamed repository's address: at the same server, as the token is for no other. @throws AttemptFailure for any other place */
function movedTo({ status, location }: { readonly status: number; readonly location: string }, from: URL, redirects: number): URL {
  const to = URL.canParse(location, from.href) ? new URL(location, from) : null;
  if (to === null || !followed.has(status) || to.origin !== from.origin || redirects === maxRedirects) {
    const where = to === null ? 'what is no address' : `${to.origin}${to.pathname}`;
    const cure = 'if the repository has moved, correct spec.workspace.git.url in a new task';
    throw new AttemptFailure(
      'InvalidInput',
      'RedirectRefused',
      `${from.origin}${from.pathname} leads to ${where}, which is not followed; ${cure}`,
    );
  }
  // Without its query a list would be one of other branches.
  if (to.search === '') to.search = from.search;
  return to;
}

/** Returns the wait that GitHub names in either way, ms: docs.github.com/rest/using-the-rest-api/rate-limits-for-the-rest-api. */
function retryAfterOf(headers: Headers): number | undefined {
  const seconds = Number(headers.get('retry-after') ?? Number.NaN);
  if (Number.isFinite(seconds)) return seconds * 1000;
  const reset = Number(headers.get('x-ratelimit-reset') ?? Number.NaN);
  return headers.get('x-ratelimit-remaining') === '0' && Number.isFinite(reset) ? Math.max(0, reset * 1000 - Date.now()) : undefined;
}

const usualWaitMs = 60_000;

function unreachable(what: string, error: unknown, secrets: readonly string[]): AttemptFailure {
  const why = scrub(reasonOf(error), secrets);
  const forbidden = causesOf(error).find((one) => one instanceof Forbidden);
  if (forbidden !== undefined) return new AttemptFailure('InvalidInput', 'HostNotAllowed', `${what}: ${forbidden.message}`);
  if (/certificate|self.signed|unable to verify|issuer/i.test(why)) {
    const cure = "put the authority of the server into the ConfigMap agentfleet-ca of the pool's namespace";
    return new AttemptFailure('Infrastructure', 'TLSFailed', `${what}: the certificate is not trusted (${why}); ${cure}`);
  }
  return new AttemptFailure('Infrastructure', 'RemoteUnreachable', `${what}: no answer (${why}); look at the network and the server`);
}

/** An answer that is no success, as a failure with its cure. */
export function refusal(what: string, { status, body, retryAfterMs }: Answer, right: string, secrets: readonly string[]): AttemptFailure {
  const words = scrub(said(body), secrets).slice(0, 300);
  const heard = `${what} answered ${status}${words === '' ? '' : ` (${words})`}`;
  if (status === 429 || (status === 403 && (retryAfterMs !== undefined || /rate limit/i.test(words))))
    return new RateLimited(`${heard}; when it stays, let fewer tasks deliver at a time`, retryAfterMs ?? usualWaitMs);
  const because = (of: FailureClass, reason: Reason, cure: string) => new AttemptFailure(of, reason, `${heard}; ${cure}`);
  if (status === 401)
    return because('InvalidInput', 'AuthenticationRequired', 'correct the Secret of the credential: its token is not taken');
  if (status === 403 || status === 404) return because('InvalidInput', 'AccessDenied', `give the token of the credential ${right}`);
  if (status === 408 || status >= 500)
    return because('Infrastructure', 'RemoteUnavailable', 'when it stays, look at the server, and open the pull request by hand');
  return because('InvalidInput', 'PullRequestRefused', 'the branch is pushed: open the pull request by hand');
}

/** Returns the text of an error body, in each forge's form. */
function said(body: unknown): string {
  const { message, error, errors } = fieldsOf(body);
  const list = listOf(errors).map((one) => (typeof one === 'string' ? one : fieldOf(one, 'message')));
  return [message, error, ...list]
    .flatMap((one) => (typeof one === 'string' ? [one] : listOf(one).map(String)))
    .join('; ')
    .replaceAll(/\p{Cc}+/gu, ' ');
}

/** A text of an answer; empty where it has none. */
export const fieldOf = (value: unknown, name: string): string => textOf(fieldsOf(value)[name]);
