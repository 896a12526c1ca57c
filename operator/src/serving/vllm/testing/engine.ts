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
}

/** An HTTP server with the endpoints, statuses and forgetfulness of a vLLM engine, and no model. */
export class FakeEngine {
  readonly faults: EngineFaults = {};
  readonly #server: Server;
  readonly #model: string;
  readonly #apiKey: string;
  readonly #adapters = new Set<string>();
  sleeping = false;
  running = 0;

  constructor(model: string, apiKey: string) {
    this.#model = model;
    this.#apiKey = apiKey;
    this.#server = createServer((request, response) => void this.#serve(request, response));
  }

  async start(): Promise<string> {
    await new Promise<void>((resolve) => this.#server.listen(0, '127.0.0.1', resolve));
    return `http://127.0.0.1:${(this.#server.address() as AddressInfo).port}`;
  }

  async stop(): Promise<void> {
    this.#server.closeAllConnections();
    await new Promise((resolve) => this.#server.close(resolve));
  }

  /** What a new process of it knows: no adapter, and it is awake. */
  restart(): void {
    this.#adapters.clear();
    this.sleeping = false;
  }

  async #serve(request: IncomingMessage, response: ServerResponse): Promise<void> {
    if (this.faults.silent === true) return;
    const chunks: Buffer[] = [];
    for await (const chunk of request) chunks.push(chunk as Buffer);
    const body = chunks.length === 0 ? {} : (JSON.parse(Buffer.concat(chunks).toString()) as Record<string, unknown>);
    const { pathname, searchParams } = new URL(request.url ?? '/', 'http://engine');
    if (request.headers.authorization !== `Bearer ${this.#apiKey}` && pathname.startsWith('/v1/'))
      return send(response, 401, { error: 'Unauthorized' });
    const route = `${request.method} ${pathname}`;
    if (route === 'GET /metrics') return void response.end(this.#metrics());
    if (route === 'GET /v1/models') return send(response, 200, { data: [this.#model, ...this.#adapters].map((id) => ({ id })) });
    if (route === 'POST /v1/completions') return this.#complete(body, response);
    if (route === 'POST /v1/load_lora_adapter') return this.#load(body, response);
    if (route === 'POST /v1/unload_lora_adapter')
      return this.#adapters.delete(String(body['lora_name']))
        ? void response.end('Success')
        : send(response, 404, { message: 'not found' });
    if (route === 'POST /sleep') {
      this.sleeping = searchParams.get('level') !== null;
      return void response.end();
    }
    if (route === 'POST /wake_up') {
      this.sleeping = false;
      return void response.end();
    }
    if (route === 'GET /is_sleeping') return send(response, 200, { is_sleeping: this.sleeping });
    send(response, 404, { detail: 'Not Found' });
  }

  #metrics(): string {
    if (this.faults.flood === true) return 'x'.repeat(2 << 20);
    const labels = `{engine="0",model_name="${this.#model}"}`;
    return `# TYPE vllm:num_requests_running gauge\nvllm:num_requests_running${labels} ${this.running}.0\nvllm:num_requests_waiting${labels} 1.0\n`;
  }

  #complete(body: Record<string, unknown>, response: ServerResponse): void {
    if (this.faults.generate !== undefined) return send(response, this.faults.generate, { message: 'EngineDeadError' });
    const model = String(body['model']);
    if (model !== this.#model && !this.#adapters.has(model))
      return send(response, 404, { message: `The model \`${model}\` does not exist.` });
    const value = this.faults.zeroLogprobs === true ? 0 : -0.5;
    send(response, 200, { choices: [{ text: ' a + b', logprobs: { token_logprobs: [value, value] } }], usage: { completion_tokens: 2 } });
  }

  #load(body: Record<string, unknown>, response: ServerResponse): void {
    const name = String(body['lora_name']);
    if (this.#adapters.has(name)) return send(response, 400, { message: `The lora adapter '${name}' has already been loaded.` });
    this.#adapters.add(name);
    response.end(`Success: LoRA adapter '${name}' added successfully.`);
  }
}

function send(response: ServerResponse, status: number, body: unknown): void {
  response.writeHead(status, { 'content-type': 'application/json' }).end(JSON.stringify(body));
}
