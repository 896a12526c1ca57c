import { randomUUID } from 'node:crypto';
import { once } from 'node:events';
import { createServer, type AddressInfo } from 'node:net';
import { setTimeout as delay } from 'node:timers/promises';
import { readConfig } from '../../../config.ts';
import { Logger } from '../../../logger.ts';
import { startServer, type RunningServer } from '../../../start.ts';
import { TurnstileClient } from '../../../turnstile/index.ts';
import { asking } from '../../testing/request.ts';
import { FakeEngine } from './engine.ts';
import type { FakeGpu } from './gpu.ts';

export const quiet = new Logger(
  'silent',
  () => undefined,
  () => 0,
);

const file = { path: 'calc.py', content: 'def add(a, b):\n    return a - b\n' };
const repaired = '{"edits":[{"path":"calc.py","find":"a - b","replace":"a + b"}],"reason":"adds"}';

/** A port that was free a moment ago. */
export async function freePort(): Promise<number> {
  const server = createServer().listen(0, '127.0.0.1');
  await once(server, 'listening');
  const { port } = server.address() as AddressInfo;
  await new Promise((resolve) => server.close(resolve));
  return port;
}

export interface PlaceOptions {
  readonly name: string;
  readonly turnstile: string;
  readonly gpu: FakeGpu;
  readonly answerMs: number;
}

/** What became of a request that was repeated until it was answered. */
export interface Answered {
  readonly tries: number;
  /** Statuses of the tries that were not answered. */
  readonly refusals: readonly string[];
}

/** A pod in one process: its init container, its engine that a kubelet starts again, and our server. */
export class Place {
  readonly engine: FakeEngine;
  readonly #options: PlaceOptions;
  readonly #stop = new AbortController();
  #server: RunningServer | undefined;
  #port = 0;

  constructor(options: PlaceOptions) {
    this.#options = options;
    const { name, gpu, answerMs } = options;
    this.engine = new FakeEngine(name, { gpu, answerMs });
    this.engine.replies = [repaired];
  }

  /** Resolves when our server is ready, or has told that it is not. */
  async start(): Promise<void> {
    const { name, turnstile } = this.#options;
    this.#port = await freePort();
    const self = { item: name, pod: `${name}-0`, engine: `http://127.0.0.1:${this.#port}` };
    const client = new TurnstileClient({ turnstile, self, newId: randomUUID });
    await client.mayLoad(this.#stop.signal, () => undefined);
    await this.#load();
    const config = readConfig({
      AGENTFLEET_ENGINE: 'VLLM',
      AGENTFLEET_ROLES: 'Generalist',
      AGENTFLEET_LISTEN: '127.0.0.1:0',
      AGENTFLEET_AUTHENTICATION: 'None',
      AGENTFLEET_UPSTREAM: self.engine,
      AGENTFLEET_MODEL: name,
      AGENTFLEET_TURNSTILE: turnstile,
      AGENTFLEET_TURN_ITEM: name,
      AGENTFLEET_POD_NAME: self.pod,
      AGENTFLEET_POD_IP: '127.0.0.1',
      AGENTFLEET_DRAIN_SECONDS: '1',
    });
    this.#server = await startServer({ config, logger: quiet, now: () => performance.now() });
  }

  get address(): string {
    return this.#server?.addresses[0] ?? '';
  }

  /** The engine's process ends; its kubelet starts it again and again until it has room. */
  async killEngine(): Promise<void> {
    await this.engine.stop();
    await this.#load();
  }

  /** Its pod goes, and does not come back. */
  async remove(): Promise<void> {
    this.#stop.abort();
    await this.engine.stop().catch(() => undefined);
    await this.#server?.stop();
  }

  /** One request, without patience. */
  ask(budgetMillis = 60_000): Promise<Response> {
    return fetch(`${this.address}/v1/generate`, {
      method: 'POST',
      headers: { 'content-type': 'application/json' },
      body: JSON.stringify({ ...asking(file), k: 1, budgetMillis }),
    });
  }

  /** A request, repeated as the agent does it. */
  async answered(): Promise<Answered> {
    const refusals: string[] = [];
    for (let tries = 1; tries <= 600; tries += 1) {
      const response = await this.ask();
      const text = await response.text();
      if (response.ok && text.includes('a + b')) return { tries, refusals };
      refusals.push(`${response.status} ${text}`);
      if (response.status !== 503) throw new Error(`${this.#options.name} was answered with what no repetition helps: ${refusals.at(-1)}`);
      await delay(Number(response.headers.get('retry-after') ?? 0.1) * 1000);
    }
    throw new Error(`${this.#options.name} never answered: ${refusals.at(-1)}`);
  }

  async #load(): Promise<void> {
    for (; !this.#stop.signal.aborted; await delay(100)) {
      const up = await this.engine.start(this.#port).then(
        () => true,
        () => false,
      );
      if (up) return;
    }
  }
}
