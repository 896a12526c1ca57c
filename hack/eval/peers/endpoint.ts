// A model's server between an agent and the model, which measures both agents by the same clock.
import { createServer, type IncomingMessage, type Server, type ServerResponse } from 'node:http';
import type { AddressInfo } from 'node:net';
import { text } from 'node:stream/consumers';
import type { ChatCompletion, ChatRequest } from '@agentfleet/protocol/chat';
import { Agent, fetch } from 'undici';

/** The answering model: a script, or a remote one. */
export type Model = (request: ChatRequest, signal: AbortSignal) => Promise<Answer>;

export interface Answer {
  readonly status: number;
  readonly body: unknown;
}

/** One request of an agent, in milliseconds of one clock. */
export interface Exchange {
  readonly arrivedMs: number;
  /** Time at which the last byte of the answer was passed to the network, ms. */
  readonly answeredMs: number;
  readonly status: number;
  /** Messages and tools as JSON, bytes. */
  readonly promptBytes: number;
  readonly tokensIn: number;
  readonly tokensOut: number;
}

/** Bytes of text that count as a token, for both agents alike. */
const bytesOfToken = 4;

/** Tokens of a value as JSON, by its bytes. */
export function estimatedTokens(value: unknown): number {
  return Math.ceil(Buffer.byteLength(JSON.stringify(value)) / bytesOfToken);
}

/** Sends requests on to an OpenAI-compatible server. @param base with its `/v1` */
export function remoteModel(base: string, name: string, key: string): Model {
  // Models are slow, and people who play them slower; the agents have limits of their own.
  const dispatcher = new Agent({ headersTimeout: 0, bodyTimeout: 0 });
  return async (request, signal) => {
    const response = await fetch(`${base.replace(/\/$/, '')}/chat/completions`, {
      method: 'POST',
      headers: { 'content-type': 'application/json', authorization: `Bearer ${key}` },
      body: JSON.stringify({ ...request, model: name, stream: false }),
      signal,
      dispatcher,
    });
    return { status: response.status, body: await response.json() };
  };
}

/** An OpenAI-compatible server on the loopback of this machine. */
export class Endpoint implements AsyncDisposable {
  #exchanges: Exchange[] = [];
  readonly #server: Server;
  #model: Model;
  readonly #stop = new AbortController();

  private constructor(model: Model) {
    this.#model = model;
    this.#server = createServer((request, response) => {
      this.#serve(request, response).catch((error: unknown) => {
        response.writeHead(502).end(JSON.stringify({ error: { message: String(error), type: 'endpoint' } }));
      });
    });
  }

  /** Since the last `play`, in their order. */
  get exchanges(): readonly Exchange[] {
    return this.#exchanges;
  }

  /** Starts again with this model. */
  play(model: Model): void {
    this.#model = model;
    this.#exchanges = [];
  }

  static async open(model: Model): Promise<Endpoint> {
    const endpoint = new Endpoint(model);
    await new Promise<void>((resolve) => endpoint.#server.listen(0, '127.0.0.1', resolve));
    return endpoint;
  }

  /** With `/v1`, as clients expect it. */
  get url(): string {
    return `http://127.0.0.1:${(this.#server.address() as AddressInfo).port}/v1`;
  }

  async #serve(request: IncomingMessage, response: ServerResponse): Promise<void> {
    const arrivedMs = performance.now();
    if (request.method !== 'POST') {
      response.writeHead(200, { 'content-type': 'application/json' }).end('{"object":"list","data":[]}');
      return;
    }
    const asked = JSON.parse(await text(request)) as ChatRequest;
    const { status, body } = await this.#model(asked, this.#stop.signal);
    response.writeHead(status, { 'content-type': 'application/json' });
    await new Promise<void>((resolve) => response.end(JSON.stringify(body), resolve));
    const answeredMs = performance.now();
    const { messages, tools = [] } = asked;
    const usage = (body as Partial<ChatCompletion>).usage;
    const counted = { tokensIn: usage?.prompt_tokens ?? 0, tokensOut: usage?.completion_tokens ?? 0 };
    const promptBytes = Buffer.byteLength(JSON.stringify({ messages, tools }));
    this.#exchanges.push({ arrivedMs, answeredMs, status, promptBytes, ...counted });
  }

  async [Symbol.asyncDispose](): Promise<void> {
    this.#stop.abort();
    this.#server.closeAllConnections();
    await new Promise((resolve) => this.#server.close(resolve));
  }
}
