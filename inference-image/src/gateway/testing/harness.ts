import { mkdtemp, rm, writeFile } from 'node:fs/promises';
import { tmpdir } from 'node:os';
import { join } from 'node:path';
import type { GatewayModel } from '@agentfleet/protocol/gateway';
import type { ChatCompletion, ChatErrorBody } from '@agentfleet/protocol/chat';
import type { Chunk } from '../providers/index.ts';
import { createLog } from '@agentfleet/protocol/log';
import { readGateway } from '../config.ts';
import { startGateway, type RunningGateway } from '../start.ts';

/** Retries of tests are as many as in production, and at once. */
export const quickPolicy = { attempts: 4, firstDelayMs: 1, longestDelayMs: 4, longestRetryAfterMs: 30_000 };

/** An answer of the gateway over HTTP. */
export interface Answer {
  readonly status: number;
  readonly headers: Headers;
  readonly body: ChatCompletion & ChatErrorBody;
  readonly text: string;
}

/** A stream of the gateway over HTTP, read to its end. */
export interface Streaming {
  readonly status: number;
  readonly chunks: readonly Chunk[];
  readonly done: boolean;
  readonly error?: ChatErrorBody['error'];
}

/** The text of one choice of a stream. */
export function textOf({ chunks }: Streaming, index = 0): string {
  const deltas = chunks.flatMap(({ choices }) => choices.filter((choice) => choice.index === index));
  return deltas.map(({ delta }) => delta.content ?? '').join('');
}

/** A gateway with separate files, on a loopback address without tokens. */
export class Stage {
  folder = '';
  readonly log: string[] = [];
  #running: RunningGateway | null = null;
  /** The clock for reloading files, ms. */
  time = 1_000_000;

  static async open(): Promise<Stage> {
    const stage = new Stage();
    await stage.begin();
    return stage;
  }

  /** Begins with a folder of its own; {@link close} removes it. */
  async begin(): Promise<void> {
    this.folder = await mkdtemp(join(tmpdir(), 'gateway-'));
    [this.log.length, this.time] = [0, 1_000_000];
    await this.write('key', 'sk-first-key\n');
  }

  path(name: string): string {
    return join(this.folder, name);
  }

  async write(name: string, text: string): Promise<void> {
    await writeFile(this.path(name), text);
  }

  /** Writes `models.json`; a running gateway looks at it with the next request. */
  async models(...models: readonly Partial<GatewayModel>[]): Promise<void> {
    const usual = { name: 'expert', engine: 'OpenAI', model: 'some-model', maxOutputTokens: 1000, concurrency: 4, timeoutSeconds: 5 };
    const whole = models.map((model) => ({ ...usual, ...model }));
    await this.write('models.json', JSON.stringify({ format: 'agentfleet.dev/gateway/v1', models: whole }));
    this.time += 10_000;
  }

  async start(more: Readonly<Record<string, string>> = {}, silenceMs = 500): Promise<void> {
    const config = readGateway({
      AGENTFLEET_LISTEN: '127.0.0.1:0',
      AGENTFLEET_AUTHENTICATION: 'None',
      AGENTFLEET_GATEWAY_MODELS: this.path('models.json'),
      AGENTFLEET_DRAIN_SECONDS: '1',
      LOG_LEVEL: 'debug',
      ...more,
    });
    const logger = createLog('debug', (line) => this.log.push(line), Date.now);
    this.#running = await startGateway({ config, logger, policy: quickPolicy, silenceMs, clock: () => this.time });
  }

  get origin(): string {
    return this.#running?.address ?? '';
  }

  /** Asks for one completion. */
  async ask(body: Readonly<Record<string, unknown>> = {}, headers: Readonly<Record<string, string>> = {}): Promise<Answer> {
    const whole = { model: 'expert', messages: [{ role: 'user', content: 'Say hello.' }], ...body };
    const response = await fetch(`${this.origin}/v1/chat/completions`, {
      method: 'POST',
      body: JSON.stringify(whole),
      headers: { 'content-type': 'application/json', ...headers },
    });
    const text = await response.text();
    const isJson = response.headers.get('content-type')?.startsWith('application/json') === true;
    return { status: response.status, headers: response.headers, body: (isJson ? JSON.parse(text) : {}) as Answer['body'], text };
  }

  /** Requests a stream with its usage; returns its chunks and its end. */
  async stream(body: Readonly<Record<string, unknown>> = {}): Promise<Streaming> {
    const { status, text, body: refused } = await this.ask({ stream: true, stream_options: { include_usage: true }, ...body });
    if (status !== 200) return { status, chunks: [], done: false, error: refused.error };
    const data = text.split('\n\n').flatMap((event) => (event.startsWith('data: ') ? [event.slice('data: '.length)] : []));
    const events = data.filter((one) => one !== '[DONE]').map((one) => JSON.parse(one) as Chunk & Partial<ChatErrorBody>);
    const error = events.find((event) => event.error !== undefined)?.error;
    const chunks = events.filter((event) => event.error === undefined);
    return { status, chunks, done: data.at(-1) === '[DONE]', ...(error !== undefined && { error }) };
  }

  async metrics(): Promise<string> {
    return (await fetch(`${this.origin}/metrics`)).text();
  }

  async stop(): Promise<void> {
    await this.#running?.stop();
    this.#running = null;
  }

  async close(): Promise<void> {
    await this.stop();
    await rm(this.folder, { recursive: true });
  }
}
