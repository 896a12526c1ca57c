import { chmod, rm } from 'node:fs/promises';
import { createServer, type Server, type Socket } from 'node:net';
import type { Clock } from '../base/clock.ts';
import type { Log } from '@agentfleet/protocol/log';
import { type Frame } from './frame.ts';
import { Connection, type ConnectionEvents, type LinkEvents, type LinkState } from './connection.ts';
import { parseMessage, type RunnerInfo, type ToRunner } from './messages.ts';

interface LinkServerOptions {
  readonly path: string;
  readonly key: string;
  readonly clock: Clock;
  readonly random: (bytes: number) => Buffer;
  readonly logger: Log;
}

const maxPending = 8;
const heartbeatMs = 10_000;
const silenceMs = 30_000;
/** User code can be refused thousands of times a second; the log of the container is rotated away by size. */
const refusalsEveryMs = 10_000;

/** The runner as the rest of the keeper sees it. */
export type RunnerLink = Pick<LinkServer, 'retire' | 'send' | 'state' | 'subscribe'>;

/** The keeper's side of the link: a Unix socket on which one runner at a time is trusted. */
export class LinkServer {
  readonly #options: LinkServerOptions;
  readonly #server: Server;
  readonly #pending = new Set<Connection>();
  /** Instances that were ordered to exit: they may dial once more before they are dead. */
  readonly #retired = new Set<string>();
  #events: LinkEvents | null = null;
  #current: Connection | null = null;
  #info: RunnerInfo | null = null;
  #connections = 0;
  #heardAt = 0;
  #refused = 0;
  #refusedReportedAt = Number.NEGATIVE_INFINITY;
  #stopHeartbeat: () => void = () => undefined;

  private constructor(options: LinkServerOptions) {
    this.#options = options;
    this.#server = createServer((socket) => this.#accept(socket));
  }

  static async listen(options: LinkServerOptions): Promise<LinkServer> {
    await rm(options.path, { force: true });
    const link = new LinkServer(options);
    await new Promise<void>((resolve, reject) => {
      link.#server.once('error', reject);
      link.#server.listen(options.path, resolve);
    });
    await chmod(options.path, 0o600);
    return link;
  }

  get state(): LinkState {
    return { connected: this.#info !== null, instance: this.#current?.instance ?? null, connections: this.#connections, info: this.#info };
  }

  /** One subscriber, set once at start. */
  subscribe(events: LinkEvents): void {
    this.#events = events;
  }

  /** Does nothing without a link; the `lost` event reports that. @throws FrameError for a frame over a limit */
  send(message: ToRunner, body?: Uint8Array): void {
    this.#current?.send(message, body);
  }

  /** Orders the runner to exit and takes no link from this instance again. */
  retire(code: number, why: string): void {
    const connection = this.#current;
    if (connection?.instance === null || connection === null) return;
    this.#retired.add(connection.instance);
    connection.send({ t: 'exit', code });
    connection.finish(why);
  }

  async close(): Promise<void> {
    for (const connection of this.#pending) connection.close('the keeper stops');
    this.#current?.finish('the keeper stops');
    await new Promise<void>((resolve) => {
      this.#server.close(() => resolve());
    });
  }

  #accept(socket: Socket): void {
    // A handshake takes a millisecond: the oldest of too many is the one that stays mute on purpose.
    const [oldest] = this.#pending;
    if (this.#pending.size >= maxPending) oldest?.close('too many connections without a handshake');
    const { key, clock, random } = this.#options;
    this.#pending.add(new Connection(socket, key, random(32).toString('base64'), clock, this.#connectionEvents));
  }

  readonly #connectionEvents: ConnectionEvents = {
    authenticated: (connection) => this.#authenticated(connection),
    frame: (connection, frame) => (connection === this.#current ? this.#frame(frame) : undefined),
    closed: (connection, why) => this.#closed(connection, why),
  };

  #authenticated(connection: Connection): boolean {
    const refusal = this.#refusal(connection.instance ?? '');
    if (refusal !== null) {
      connection.close(refusal);
      return false;
    }
    this.#pending.delete(connection);
    this.#current?.close('a new tools container took over');
    this.#current = connection;
    this.#connections += 1;
    this.#heardAt = this.#options.clock.monotonic();
    this.#beat(connection);
    return true;
  }

  #refusal(instance: string): string | null {
    if (this.#retired.has(instance)) return 'this instance was ordered to exit';
    if (this.#current?.instance === instance) return 'this instance has a link already';
    return null;
  }

  #frame(frame: Frame): Promise<void> | undefined {
    this.#heardAt = this.#options.clock.monotonic();
    const message = parseMessage(frame);
    if (message === null || message.t === 'pong') return undefined;
    if (message.t !== 'info') return this.#events?.message(message);
    const first = this.#info === null;
    this.#info = message;
    if (first) this.#events?.connected(this.#current?.instance ?? '', message);
    return undefined;
  }

  #closed(connection: Connection, why: string): void {
    if (this.#pending.delete(connection)) this.#tellRefusal(why);
    if (connection !== this.#current) return;
    this.#stopHeartbeat();
    const instance = connection.instance ?? '';
    const announced = this.#info !== null;
    this.#current = null;
    this.#info = null;
    if (announced) this.#events?.lost(instance, why);
  }

  #tellRefusal(why: string): void {
    const { clock, logger } = this.#options;
    this.#refused += 1;
    if (clock.monotonic() - this.#refusedReportedAt < refusalsEveryMs) return;
    logger.warn('connections to the link were refused', { why, count: this.#refused });
    this.#refused = 0;
    this.#refusedReportedAt = clock.monotonic();
  }

  /** A peer that answers nothing for 30 s is as good as gone. */
  #beat(connection: Connection): void {
    this.#stopHeartbeat();
    const { clock } = this.#options;
    this.#stopHeartbeat = clock.after(heartbeatMs, () => {
      if (connection !== this.#current) return;
      if (clock.monotonic() - this.#heardAt > silenceMs) return connection.close('the runner did not answer for 30 s');
      connection.send({ t: 'ping', id: clock.now() });
      this.#beat(connection);
    });
  }
}
