import { createServer, type IncomingMessage, type Server, type ServerResponse } from 'node:http';
import { createServer as createTlsServer } from 'node:https';
import type { AddressInfo } from 'node:net';

/** The answer to one request; the last of a list answers all that follow. */
export type Script = (call: ProviderCall, response: ServerResponse) => void;

/** A request as the provider got it. */
export interface ProviderCall {
  readonly path: string;
  readonly headers: Readonly<Record<string, string | string[] | undefined>>;
  readonly body: Readonly<Record<string, unknown>>;
}

/** A provider of the OpenAI chat API without a model: answers by a script, and keeps its requests. */
export class FakeProvider {
  readonly calls: ProviderCall[] = [];
  /** Its base URL, with the path; empty before it has started. */
  url = '';
  readonly #server: Server;
  readonly #isTls: boolean;
  #script: Script[] = [];

  /** @param tls key and certificate, in PEM; without them it speaks plain HTTP */
  constructor(tls?: { readonly key: string; readonly cert: string }) {
    const serve = (request: IncomingMessage, response: ServerResponse): void => void this.#serve(request, response);
    this.#isTls = tls !== undefined;
    this.#server = tls === undefined ? createServer(serve) : createTlsServer(tls, serve);
  }

  /** @returns its base URL, with the path */
  async start(): Promise<string> {
    await new Promise<void>((resolve) => this.#server.listen(0, '127.0.0.1', resolve));
    this.url = `${this.#isTls ? 'https' : 'http'}://127.0.0.1:${(this.#server.address() as AddressInfo).port}/api/v1`;
    return this.url;
  }

  async stop(): Promise<void> {
    this.#server.closeAllConnections();
    await new Promise((resolve) => this.#server.close(resolve));
  }

  /** Sets the answers to the next requests; drops earlier ones. */
  play(...script: readonly Script[]): void {
    this.#script = [...script];
    this.calls.length = 0;
  }

  async #serve(request: IncomingMessage, response: ServerResponse): Promise<void> {
    const chunks: Buffer[] = [];
    for await (const chunk of request) chunks.push(chunk as Buffer);
    const text = Buffer.concat(chunks).toString();
    const body = text === '' ? {} : (JSON.parse(text) as Record<string, unknown>);
    const call = { path: request.url ?? '', headers: request.headers, body };
    this.calls.push(call);
    const script = this.#script.length > 1 ? this.#script.shift() : this.#script[0];
    if (script === undefined) refuse(404, { error: { message: 'nothing to play' } })(call, response);
    else script(call, response);
  }
}

/** A JSON answer with any status. */
export function refuse(status: number, body: unknown, headers: Readonly<Record<string, string>> = {}): Script {
  return (_call, response) => void response.writeHead(status, { 'content-type': 'application/json', ...headers }).end(JSON.stringify(body));
}

export interface Reply {
  readonly content?: string | null;
  readonly tool_calls?: readonly unknown[];
  readonly [member: string]: unknown;
}

export const usage = { prompt_tokens: 100, completion_tokens: 20, total_tokens: 120, prompt_tokens_details: { cached_tokens: 40 } };

/** A chat completion with these messages as its choices. */
export function tell(messages: readonly Reply[], more: Readonly<Record<string, unknown>> = { usage }): Script {
  return refuse(200, {
    id: 'chatcmpl-1',
    object: 'chat.completion',
    created: 1,
    model: 'some-model-2026',
    choices: messages.map((message, index) => ({
      index,
      message: { role: 'assistant', content: null, refusal: null, ...message },
      finish_reason: message.tool_calls === undefined ? 'stop' : 'tool_calls',
      logprobs: null,
    })),
    ...more,
  });
}

/** A text that is sent as it is, with its type. */
export function raw(text: string, type = 'application/json', end = true): Script {
  return (_call, response) => {
    response.writeHead(200, { 'content-type': type });
    response.write(text);
    if (end) response.end();
  };
}

/** Sends the head and a part of the answer, and breaks the connection. */
export function breakOff(text: string, type = 'application/json'): Script {
  return (_call, response) => {
    response.writeHead(200, { 'content-type': type, 'content-length': String(text.length + 1000) });
    response.write(text, () => setImmediate(() => response.destroy()));
  };
}

/** Answers nothing. */
export const silence: Script = () => undefined;

/** An answer that never ends. */
export const flood: Script = (_call, response) => {
  response.writeHead(200, { 'content-type': 'application/json' });
  const piece = Buffer.alloc(1024 * 1024, 0x20);
  const more = (): void => {
    while (!response.destroyed && response.write(piece));
  };
  response.on('drain', more);
  more();
};

/** Server-sent events, each with this data. */
export function stream(events: readonly unknown[], done = true): Script {
  const data = events.map((event) => `data: ${JSON.stringify(event)}\n\n`).join('');
  return raw(`${data}${done ? 'data: [DONE]\n\n' : ''}`, 'text/event-stream');
}

/** One chunk of a stream. */
export function chunk(delta: Readonly<Record<string, unknown>>, finish: string | null = null, index = 0): unknown {
  return { id: 'c', object: 'chat.completion.chunk', created: 1, model: 'm', choices: [{ index, delta, finish_reason: finish }] };
}
