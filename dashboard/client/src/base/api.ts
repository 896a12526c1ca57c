/** Requests to the service. Every error has what happened and what helps. */
import type { Failure, Session } from '../../../src/base/wire.ts';

export class RequestError extends Error {
  readonly status: number;
  readonly failure: Failure;
  constructor(status: number, failure: Failure) {
    super(failure.message);
    this.status = status;
    this.failure = failure;
  }
}

let csrf = '';
export function useToken(session: Session): void {
  csrf = session.csrf;
}

let onOut = (): void => undefined;
/** Names what happens when the API server does not know the user any more. */
export function whenOut(listener: () => void): void {
  onOut = listener;
}

async function failureOf(response: Response): Promise<RequestError> {
  const body = (await response.json().catch(() => ({}))) as Partial<Failure>;
  const { code = `HTTP ${response.status}`, message = response.statusText, cure } = body;
  return new RequestError(response.status, { code, message, ...(cure === undefined ? {} : { cure }) });
}

const away: Failure = { code: 'AF_DASHBOARD_AWAY', message: 'the dashboard does not answer', cure: 'Wait: the page tries again' };

export async function open(path: string, init: RequestInit = {}): Promise<Response> {
  const response = await fetch(path, { credentials: 'same-origin', ...init }).catch((error: unknown) => {
    if (init.signal?.aborted === true) throw error;
    throw new RequestError(0, away);
  });
  if (response.status === 401 && !path.startsWith('/api/session')) onOut();
  if (!response.ok) throw await failureOf(response);
  return response;
}

export async function get<T>(path: string, signal?: AbortSignal): Promise<T> {
  return (await (await open(path, signal === undefined ? {} : { signal })).json()) as T;
}

export async function send<T>(method: 'POST' | 'PATCH' | 'DELETE', path: string, body: unknown = {}): Promise<T> {
  const headers = { 'content-type': 'application/json', 'x-csrf-token': csrf };
  const response = await open(path, { method, headers, body: JSON.stringify(body) });
  return (response.status === 204 ? undefined : await response.json()) as T;
}

/** Lines of NDJSON as they come. */
export async function* lines<T>(response: Response): AsyncGenerator<T> {
  if (response.body === null) return;
  let rest = '';
  for await (const text of response.body.pipeThrough(new TextDecoderStream()) as unknown as AsyncIterable<string>) {
    const parts = (rest + text).split('\n');
    rest = parts.pop() ?? '';
    for (const line of parts) if (line !== '') yield JSON.parse(line) as T;
  }
  if (rest !== '') yield JSON.parse(rest) as T;
}

const segment = encodeURIComponent;
export const taskPath = (namespace: string, name: string, part = ''): string => `/api/tasks/${segment(namespace)}/${segment(name)}${part}`;
