import { EventEmitter } from 'node:events';
import type { IncomingMessage, ServerResponse } from 'node:http';
import type { ApiRequest } from '@agentfleet/kube';
import type { FakeApiServer } from '@agentfleet/kube/testing';

/** The answer to a request that came without a socket: what the server calls of a ServerResponse, and a stream of its lines. */
class Answer extends EventEmitter {
  code = 0;
  headersSent = false;
  /** Chunks that were written and not read. */
  readonly #chunks: string[] = [];
  #over = false;
  #wake: (() => void) | undefined;
  readonly socket = { destroy: (): void => this.close(), destroySoon: (): void => this.close() };

  setHeader(): this {
    return this;
  }

  writeHead(code: number): this {
    this.code = code;
    this.headersSent = true;
    this.emit('headers');
    return this;
  }

  flushHeaders(): void {}

  write(text: string): boolean {
    if (!this.#over) this.#chunks.push(text);
    this.#wake?.();
    return true;
  }

  end(text?: string): void {
    if (text !== undefined) this.write(text);
    this.close();
  }

  destroy(): void {
    this.close();
  }

  close(): void {
    if (this.#over) return;
    this.#over = true;
    this.#wake?.();
    this.emit('close');
  }

  /** All of it, when it is over. */
  text(): string {
    return this.#chunks.join('');
  }

  async *lines(): AsyncGenerator<string> {
    while (true) {
      for (let next = this.#chunks.shift(); next !== undefined; next = this.#chunks.shift()) yield next;
      if (this.#over) return;
      await new Promise<void>((resolve) => (this.#wake = resolve));
    }
  }
}

function searchOf({ query = {} }: ApiRequest): string {
  const search = new URLSearchParams();
  for (const [name, value] of Object.entries(query)) if (value !== undefined) search.set(name, String(value));
  return search.toString();
}

function incoming(request: ApiRequest, userAgent: string): IncomingMessage {
  const { method, path, body, contentType = 'application/json' } = request;
  const text = body === undefined ? '' : JSON.stringify(body);
  const message = {
    method,
    url: `${path}?${searchOf(request)}`,
    headers: { 'user-agent': userAgent, 'content-type': contentType },
    setEncoding: () => [text],
  };
  // The server reads nothing else of it.
  return message as unknown as IncomingMessage;
}

/** Code and body of a request; code 0 when the connection broke. */
export async function ask(
  server: FakeApiServer,
  request: ApiRequest,
  userAgent: string,
): Promise<{ readonly code: number; readonly text: string }> {
  const answer = new Answer();
  await server.accept(incoming(request, userAgent), answer as unknown as ServerResponse);
  return { code: answer.code, text: answer.text() };
}

/** The lines of a watch that the server opened, or of its refusal. */
export async function follow(
  server: FakeApiServer,
  request: ApiRequest,
  userAgent: string,
): Promise<{ readonly code: number; readonly lines: AsyncGenerator<string>; readonly text: () => string; readonly close: () => void }> {
  const answer = new Answer();
  await server.accept(incoming(request, userAgent), answer as unknown as ServerResponse);
  return { code: answer.code, lines: answer.lines(), text: () => answer.text(), close: () => answer.close() };
}
