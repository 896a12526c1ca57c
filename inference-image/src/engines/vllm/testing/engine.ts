import { createServer, type IncomingMessage, type Server, type ServerResponse } from 'node:http';
import type { AddressInfo } from 'node:net';

/** Faults that the engine plays. */
export interface EngineFaults {
  /** Answers every generation with this status. */
  generate?: number;
  /** Answers logprobs with zeros, as engines do that have none. */
  zeroLogprobs?: boolean;
  /** Answers nothing for ever. */
  silent?: boolean;
  /** Answers without an end. */
  flood?: boolean;
  /** Cuts every answer of a chat at its length. */
  cut?: boolean;
  /** Answers the word to sleep, or to wake, with this status, and does not. */
  sleep?: number;
  wake?: number;
}

/** GPU memory of an engine. */
export interface GpuMemory {
  /** Returns whether there was room; an owner that already has it keeps it. */
  take(who: string): Promise<boolean>;
  free(who: string): Promise<void>;
}

/** Behaviour and memory of an engine. */
export interface EngineOptions {
  /** Further names that it answers to. */
  readonly aliases?: readonly string[];
  /** Reports whether there is an adapter in a folder; default: in all. */
  readonly hasAdapter?: (folder: string) => boolean;
  /** Whether it can sleep; default: yes. */
  readonly sleeps?: boolean;
  /** The memory that it needs to load and to wake; default: enough. */
  readonly gpu?: GpuMemory;
  /** Called when there is none: a process ends then. */
  readonly onNoRoom?: () => void;
  /** Time that a chat takes, ms. */
  readonly answerMs?: number;
}

/** Test control of a running engine, and its state: `POST /testing`. */
export interface EngineState {
  readonly held: boolean;
  /** Chats that wait for {@link FakeEngine.release}. */
  readonly waiting: number;
}

/** An HTTP server with the endpoints, statuses and forgetfulness of a vLLM engine, and no model. */
export class FakeEngine {
  readonly faults: EngineFaults = {};
  readonly #server: Server;
  readonly #models: readonly string[];
  readonly #options: EngineOptions;
  readonly #adapters = new Set<string>();
  /** Whether it accepts adapters. */
  adapters = true;
  sleeping = false;
  /** Blocks of 16 tokens that it reports; undefined: it has no metrics. */
  kvBlocks: number | undefined = 7500;
  /** Whether chats wait for {@link release}. */
  held = false;
  #release: (() => void)[] = [];
  /** Chats under way, and how many of them it was put to sleep under. */
  #answering = 0;
  cuts = 0;
  /** It found no room to wake: it answers nothing but errors. */
  #dead = false;
  /** Replies to chats, in order; the last is repeated. */
  replies: readonly string[] = ['{"edits":[]}'];
  /** Bodies of the chats that were asked. */
  readonly chats: Record<string, unknown>[] = [];

  constructor(model: string, options: EngineOptions = {}) {
    this.#models = [model, ...(options.aliases ?? [])];
    this.#options = options;
    this.#server = createServer((request, response) => void this.#serve(request, response));
  }

  /** Loads and listens. Rejects when there is no room for its weights. */
  async start(port = 0, host = '127.0.0.1'): Promise<string> {
    if ((await this.#options.gpu?.take(this.#name)) === false) throw new Error('CUDA out of memory');
    this.restart();
    await new Promise<void>((resolve, reject) => this.#server.once('error', reject).listen(port, host, resolve));
    return `http://127.0.0.1:${(this.#server.address() as AddressInfo).port}`;
  }

  async stop(): Promise<void> {
    this.#server.closeAllConnections();
    await new Promise((resolve) => this.#server.close(resolve));
    await this.#options.gpu?.free(this.#name);
  }

  get #name(): string {
    return this.#models[0] ?? '';
  }

  /** State of a new process: no adapter, and awake. */
  restart(): void {
    this.#adapters.clear();
    this.sleeping = false;
    this.#dead = false;
  }

  release(): void {
    this.held = false;
    for (const go of this.#release.splice(0)) go();
  }

  async #serve(request: IncomingMessage, response: ServerResponse): Promise<void> {
    if (this.faults.silent === true) return;
    const chunks: Buffer[] = [];
    for await (const chunk of request) chunks.push(chunk as Buffer);
    const body = chunks.length === 0 ? {} : (JSON.parse(Buffer.concat(chunks).toString()) as Record<string, unknown>);
    const { pathname, searchParams } = new URL(request.url ?? '/', 'http://engine');
    const route = `${request.method} ${pathname}`;
    if (this.faults.flood === true) return void response.end('x'.repeat(5 << 20));
    if (this.#dead) return send(response, 500, { message: 'EngineDeadError' });
    if (route === 'GET /health') return void response.end();
    if (route === 'POST /testing') return send(response, 200, this.#reported(body));
    if (route === 'GET /metrics') return this.#metrics(response);
    if (route === 'GET /v1/models') return send(response, 200, { data: [...this.#models, ...this.#adapters].map((id) => ({ id })) });
    if (route === 'POST /v1/completions') return this.#complete(body, response);
    if (route === 'POST /v1/chat/completions') return this.#hold(() => this.#chat(body, response), body);
    if (route === 'POST /v1/load_lora_adapter') return this.#load(body, response);
    if (this.#options.sleeps === false || !(await this.#sleep(route, searchParams, response))) send(response, 404, { detail: 'Not Found' });
  }

  /** Returns whether the request was about sleep. */
  async #sleep(route: string, query: URLSearchParams, response: ServerResponse): Promise<boolean> {
    let status = 200;
    if (route === 'POST /sleep') status = this.faults.sleep ?? (await this.#fallAsleep(query.get('level') !== null));
    else if (route === 'POST /wake_up') status = this.faults.wake ?? (await this.#awake());
    else if (route !== 'GET /is_sleeping') return false;
    send(response, status, { is_sleeping: this.sleeping });
    return true;
  }

  async #fallAsleep(known: boolean): Promise<number> {
    if (!this.sleeping) this.cuts += this.#answering;
    this.sleeping = known;
    await this.#options.gpu?.free(this.#name);
    return 200;
  }

  async #awake(): Promise<number> {
    const { gpu, onNoRoom } = this.#options;
    if ((await gpu?.take(this.#name)) === false) {
      this.#dead = true;
      onNoRoom?.();
      return 500;
    }
    this.sleeping = false;
    return 200;
  }

  #metrics(response: ServerResponse): void {
    if (this.kvBlocks === undefined) return void response.writeHead(404).end();
    const labels = `block_size="16",cache_dtype="auto",num_cpu_blocks="None",num_gpu_blocks="${this.kvBlocks}"`;
    response.end(`# TYPE vllm:cache_config_info gauge\nvllm:cache_config_info{${labels}} 1.0\nvllm:num_requests_running 0.0\n`);
  }

  #reported({ held, replies }: { readonly held?: boolean; readonly replies?: readonly string[] }): EngineState {
    if (replies !== undefined) this.replies = replies;
    if (held === false) this.release();
    else if (held === true) this.held = true;
    return { held: this.held, waiting: this.#release.length };
  }

  #complete(body: Record<string, unknown>, response: ServerResponse): void {
    if (!this.#knows(body, response)) return;
    const value = this.faults.zeroLogprobs === true ? 0 : -0.5;
    send(response, 200, { choices: [{ text: ' a + b', logprobs: { token_logprobs: [value, value] } }], usage: { completion_tokens: 2 } });
  }

  #hold(answer: () => void, body: Record<string, unknown>): void {
    this.chats.push(body);
    this.#answering += 1;
    const done = (): void => {
      this.#answering -= 1;
      answer();
    };
    if (this.held) this.#release.push(done);
    else if (this.#options.answerMs === undefined) done();
    else setTimeout(done, this.#options.answerMs);
  }

  #chat(body: Record<string, unknown>, response: ServerResponse): void {
    if (this.sleeping) return send(response, 500, { message: 'the engine sleeps' });
    if (!this.#knows(body, response)) return;
    const logprob = this.faults.zeroLogprobs === true ? 0 : -0.25;
    const choices = Array.from({ length: Number(body['n'] ?? 1) }, (_, index) => {
      const content = this.replies[Math.min(index, this.replies.length - 1)] ?? '';
      // Later answers are longer and so less likely.
      const tokens = Array.from({ length: index + 2 }, () => ({ token: 'x', logprob }));
      return {
        index,
        message: { role: 'assistant', content },
        finish_reason: this.faults.cut === true ? 'length' : 'stop',
        logprobs: { content: tokens },
      };
    });
    send(response, 200, { choices });
  }

  /** Returns whether it may answer; if not, it has refused. */
  #knows(body: Record<string, unknown>, response: ServerResponse): boolean {
    const model = String(body['model']);
    if (this.faults.generate !== undefined) send(response, this.faults.generate, { message: 'EngineDeadError' });
    else if (!this.#models.includes(model) && !this.#adapters.has(model))
      send(response, 404, { message: `The model \`${model}\` does not exist.` });
    else return true;
    return false;
  }

  #load(body: Record<string, unknown>, response: ServerResponse): void {
    const name = String(body['lora_name']);
    if (!this.adapters || this.#options.hasAdapter?.(String(body['lora_path'])) === false)
      return send(response, 404, { message: 'no adapter at its path' });
    if (this.#adapters.has(name)) return send(response, 400, { message: `The lora adapter '${name}' has already been loaded.` });
    this.#adapters.add(name);
    response.end(`Success: LoRA adapter '${name}' added successfully.`);
  }
}

function send(response: ServerResponse, status: number, body: unknown): void {
  response.writeHead(status, { 'content-type': 'application/json' }).end(JSON.stringify(body));
}
