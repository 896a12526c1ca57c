import { once } from 'node:events';
import { createServer, request as httpRequest, type IncomingMessage, type Server } from 'node:http';
import type { AddressInfo } from 'node:net';

/** What engines on one GPU have of its memory. */
export interface GpuMemory {
  /** Whether there was room; whoever has it already keeps it. */
  take(who: string): Promise<boolean>;
  free(who: string): Promise<void>;
}

/** The memory of a GPU with room for one engine, and a record of who had it. */
export class FakeGpu implements GpuMemory {
  /** Who had it, one after the other. */
  readonly record: string[] = [];
  /** Who asked for room that was not there. */
  readonly refused: string[] = [];
  #holder: string | null = null;
  #server: Server | undefined;

  get holder(): string | null {
    return this.#holder;
  }

  take(who: string): Promise<boolean> {
    if (this.#holder !== null && this.#holder !== who) {
      this.refused.push(`${who} while ${this.#holder} has it`);
      return Promise.resolve(false);
    }
    if (this.#holder === null) this.record.push(who);
    this.#holder = who;
    return Promise.resolve(true);
  }

  free(who: string): Promise<void> {
    if (this.#holder === who) this.#holder = null;
    return Promise.resolve();
  }

  /** For engines that are processes: a connection has the memory, as a process has that of a GPU, and frees it when it ends. */
  async listen(): Promise<string> {
    const server = createServer((request, response) => {
      const who = new URL(request.url ?? '/', 'http://gpu').searchParams.get('who') ?? '';
      void this.take(who).then((taken) => {
        response.writeHead(taken ? 200 : 409);
        if (!taken) response.end();
        else response.on('close', () => void this.free(who)).flushHeaders();
      });
    });
    this.#server = server.listen(0, '127.0.0.1');
    await once(server, 'listening');
    return `http://127.0.0.1:${(server.address() as AddressInfo).port}`;
  }

  async close(): Promise<void> {
    const server = this.#server;
    if (server === undefined) return;
    server.closeAllConnections();
    await new Promise((resolve) => server.close(resolve));
  }
}

/** The same, from another process. */
export class RemoteGpu implements GpuMemory {
  readonly #origin: string;
  #held: IncomingMessage | undefined;

  constructor(origin: string) {
    this.#origin = origin;
  }

  async take(who: string): Promise<boolean> {
    if (this.#held !== undefined) return true;
    const call = httpRequest(`${this.#origin}/hold?who=${encodeURIComponent(who)}`, { method: 'POST' }).end();
    const [response] = (await once(call, 'response')) as [IncomingMessage];
    if (response.statusCode !== 200) return false;
    response.on('error', () => undefined);
    this.#held = response.resume();
    return true;
  }

  async free(): Promise<void> {
    const held = this.#held;
    this.#held = undefined;
    if (held === undefined) return;
    held.destroy();
    await once(held, 'close');
  }
}
