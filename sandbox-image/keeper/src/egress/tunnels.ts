import type { AuditType, egressBounds } from '@agentfleet/protocol/keeper';
import type { Duplex } from 'node:stream';
import type { Clock } from '../base/clock.ts';
import { createServer, type Server, type Socket } from 'node:net';
import { KeeperError } from '../base/failure.ts';

/** One joined connection; bytes as seen from the sandbox. */
export interface Connection {
  readonly id: number;
  readonly bytesOut: number;
  readonly bytesIn: number;
  readonly millis: number;
  readonly why: string;
}

/** Connections of one epoch that are reported one by one: code of the user may open any number of them. */
const maxReported = 500;

/** Puts connections into the event log, those over a bound as one sum. */
export class EgressJournal {
  readonly #append: (type: AuditType, body: Readonly<Record<string, unknown>>) => void;
  #reported = 0;
  #rest = { connections: 0, bytesOut: 0, bytesIn: 0 };

  constructor(append: (type: AuditType, body: Readonly<Record<string, unknown>>) => void) {
    this.#append = append;
  }

  /** Returns whether the end of this connection will be reported too. */
  opened(id: number, epoch: number): boolean {
    if (this.#reported >= maxReported) return false;
    this.#reported += 1;
    this.#append('EgressOpened', { id, epoch });
    return true;
  }

  closed(connection: Connection, reported: boolean): void {
    if (reported) {
      this.#append('EgressClosed', { ...connection });
      return;
    }
    this.#rest.connections += 1;
    this.#rest.bytesOut += connection.bytesOut;
    this.#rest.bytesIn += connection.bytesIn;
  }

  /** Records the sum, and begins again with the next epoch. */
  sum(): void {
    if (this.#rest.connections > 0) this.#append('EgressClosed', { ...this.#rest, why: 'Summed' });
    this.#rest = { connections: 0, bytesOut: 0, bytesIn: 0 };
    this.#reported = 0;
  }
}

export interface Spliced {
  /** Bytes from a to b, and back. */
  readonly forth: number;
  readonly back: number;
  /** `Ended`: both directions did. `Cut`: one side went away. `Idle`: no byte came for too long. */
  readonly why: 'Ended' | 'Cut' | 'Idle';
}

/**
 * Joins two connections byte for byte until both directions have ended; the end of one direction is handed on and leaves
 * the other open. Ends when no first byte comes within `silentMs`. Never rejects, leaves both destroyed.
 */
export function splice(a: Duplex, b: Duplex, { clock, silentMs }: { readonly clock: Clock; readonly silentMs: number }): Promise<Spliced> {
  const { promise, resolve } = Promise.withResolvers<Spliced>();
  const moved = { forth: 0, back: 0 };
  let open = 2;
  const heard = clock.after(silentMs, () => finish('Idle'));
  const finish = (why: Spliced['why']): void => {
    heard();
    a.destroy();
    b.destroy();
    resolve({ ...moved, why });
  };
  const flow = (from: Duplex, to: Duplex, way: keyof typeof moved): void => {
    from.on('data', (chunk: Buffer) => {
      moved[way] += chunk.length;
      heard();
    });
    from.once('end', () => {
      open -= 1;
      if (open === 0) to.end(() => finish('Ended'));
    });
    from.once('close', () => {
      if (!from.readableEnded) finish('Cut');
      // The peer closed after its last byte, which is still forwarded; nothing can be sent back.
      else if (open > 0) to.end(() => finish('Cut'));
    });
    from.pipe(to);
  };
  flow(a, b, 'forth');
  flow(b, a, 'back');
  return promise;
}

interface TunnelsOptions {
  readonly listen: { readonly host: string; readonly port: number };
  readonly bounds: Readonly<Record<keyof typeof egressBounds, number>>;
  readonly journal: EgressJournal;
  readonly clock: Clock;
}

interface Tunnel {
  readonly socket: Duplex;
  readonly epoch: number;
  /** Ends it while it waits. */
  readonly gone: () => void;
}

/** Tunnels of workers, and the local port whose connections are handed to them. */
export class EgressTunnels {
  readonly #options: TunnelsOptions;
  readonly #parked = new Set<Tunnel>();
  readonly #open = new Set<Tunnel & { readonly local: Socket }>();
  readonly #waiting = new Set<Socket>();
  #server: Server | null = null;
  #connections = 0;
  #closed = false;

  constructor(options: TunnelsOptions) {
    this.#options = options;
  }

  get parked(): number {
    return this.#parked.size;
  }

  get open(): number {
    return this.#open.size;
  }

  /** Port of the local side; null while it does not listen. */
  get port(): number | null {
    const address = this.#server?.address();
    return typeof address === 'object' && address !== null ? address.port : null;
  }

  /** Listens, unless it does. @throws KeeperError when the port is taken, which code of the user can do to itself */
  async listen(): Promise<void> {
    if (this.#server !== null || this.#closed) return;
    const server = createServer({ allowHalfOpen: true }, (local) => this.#accept(local));
    const { promise, resolve, reject } = Promise.withResolvers<void>();
    server.once('listening', resolve).once('error', reject);
    server.listen(this.#options.listen);
    try {
      await promise;
    } catch (error) {
      const { host, port } = this.#options.listen;
      throw new KeeperError('AF_EGRESS_UNAVAILABLE', `${host}:${port} cannot be listened on`, { cause: error });
    }
    server.removeListener('error', reject);
    server.on('error', () => undefined); // a connection that was gone before it was accepted
    if (this.#server === null && !this.#closed) this.#server = server;
    else server.close();
  }

  /** Admits one more parked tunnel. @throws KeeperError `AF_BUSY`, `AF_EGRESS_UNAVAILABLE` */
  async admit(): Promise<void> {
    await this.listen();
    const { maxParked } = this.#options.bounds;
    if (this.#parked.size >= maxParked) throw new KeeperError('AF_BUSY', `${maxParked} tunnels are parked already`);
  }

  /** Takes a tunnel that was admitted, unless its caller has left since: then no event would end it. */
  park(socket: Duplex, epoch: number): void {
    if (socket.destroyed) return;
    const gone = (): void => {
      this.#parked.delete(tunnel);
      socket.destroy();
    };
    const tunnel: Tunnel = { socket, epoch, gone };
    socket.on('error', () => undefined); // its close event reports it
    const [waiting] = this.#waiting;
    if (waiting !== undefined) {
      this.#waiting.delete(waiting);
      void this.#join(waiting, tunnel);
      return;
    }
    this.#parked.add(tunnel);
    // Before it is joined, only its end is allowed, which would not be noticed without a reader.
    for (const event of ['close', 'end', 'data'] as const) socket.once(event, tunnel.gone);
    socket.resume();
  }

  /** Ends all tunnels of older assignments, parked or joined. */
  supersede(epoch: number): void {
    for (const tunnel of [...this.#parked, ...this.#open]) {
      if (tunnel.epoch < epoch) tunnel.socket.destroy();
    }
    this.#options.journal.sum();
  }

  async close(): Promise<void> {
    this.#closed = true;
    for (const { socket } of [...this.#parked, ...this.#open]) socket.destroy();
    for (const local of [...this.#waiting, ...[...this.#open].map(({ local }) => local)]) local.destroy();
    this.#options.journal.sum();
    const server = this.#server;
    if (server !== null) await new Promise<void>((resolve) => void server.close(() => resolve()));
  }

  #accept(local: Socket): void {
    local.on('error', () => undefined); // its close event reports it
    const { bounds } = this.#options;
    // The newest: those of the command before may wait for the news that their worker has closed them.
    const tunnel = [...this.#parked].at(-1);
    if (this.#open.size + this.#waiting.size >= bounds.maxOpen || this.#closed) {
      local.destroy();
      return;
    }
    if (tunnel === undefined) {
      this.#await(local);
      return;
    }
    this.#parked.delete(tunnel);
    for (const event of ['close', 'end', 'data'] as const) tunnel.socket.removeListener(event, tunnel.gone);
    void this.#join(local, tunnel);
  }

  /**
   * Waits for the next tunnel. While other connections are open, a worker is present and soon parks one; otherwise this
   * connection ends at once.
   */
  #await(local: Socket): void {
    const { bounds, clock } = this.#options;
    if (this.#open.size === 0 || this.#waiting.size >= bounds.maxParked) {
      local.destroy();
      return;
    }
    this.#waiting.add(local);
    const cancel = clock.after(bounds.waitMillis, () => {
      if (this.#waiting.delete(local)) local.destroy();
    });
    local.once('close', () => {
      cancel();
      this.#waiting.delete(local);
    });
  }

  async #join(local: Socket, tunnel: Tunnel): Promise<void> {
    const { clock, journal, bounds } = this.#options;
    const joined = { ...tunnel, local };
    this.#open.add(joined);
    this.#connections += 1;
    const id = this.#connections;
    const began = clock.monotonic();
    const opening = journal.opened(id, tunnel.epoch);
    const { forth, back, why } = await splice(local, tunnel.socket, { clock, silentMs: bounds.silentSeconds * 1000 });
    this.#open.delete(joined);
    journal.closed({ id, bytesOut: forth, bytesIn: back, millis: Math.round(clock.monotonic() - began), why }, opening);
  }
}
