import type { Duplex } from 'node:stream';
import { asError, type Clock, type Log } from '@agentfleet/kube';
import type { KeeperClient } from '@agentfleet/keeper/client';
import { egressPort } from '@agentfleet/protocol/keeper';
import { serveTunnel, type ServeOwn, type EgressRequest } from './connection.ts';
import type { AddressRules, Dialer, OpenDialer } from './dial.ts';
import { HostList, type HostPort } from './hosts.ts';

type Line = { -readonly [K in keyof EgressRequest]: EgressRequest[K] } & { requests: number };

/** Hosts that one note names; a command can ask for any number of others. */
const maxLines = 64;

/** Requests of commands to the proxy: one line per host, port and decision. */
class EgressJournal {
  readonly #lines = new Map<string, Line>();
  #others = 0;

  add({ host, port, decision, bytesOut, bytesIn }: EgressRequest): void {
    const key = `${host} ${port} ${decision}`;
    const line = this.#lines.get(key);
    if (line !== undefined) {
      line.requests += 1;
      line.bytesOut += bytesOut;
      line.bytesIn += bytesIn;
    } else if (this.#lines.size < maxLines)
      this.#lines.set(key, { host: host.slice(0, 253), port, decision, requests: 1, bytesOut, bytesIn });
    else this.#others += 1;
  }

  take(): Readonly<Record<string, unknown>> | null {
    if (this.#lines.size === 0) return null;
    const data = { requests: [...this.#lines.values()], ...(this.#others > 0 && { others: this.#others }) };
    this.#lines.clear();
    this.#others = 0;
    return data;
  }
}

export type { EgressRequest, ServeOwn } from './connection.ts';

/** A way out that is open. */
export interface Egress {
  readonly environment: Readonly<Record<string, string>>;
  /** Closes all connections and records the requests. */
  close(): Promise<void>;
}

/** Hosts that one command may reach. */
export interface EgressReach {
  readonly mode: 'Registries' | 'Allowed';
  readonly hosts: readonly HostPort[];
  readonly rules: AddressRules;
}

interface EgressOptions {
  readonly keeper: Pick<KeeperClient, 'egress'>;
  readonly reach: EgressReach;
  /** Server behind the local port itself; default: none. */
  readonly own?: ServeOwn | undefined;
  readonly note: (data: Readonly<Record<string, unknown>>) => Promise<void>;
  readonly clock: Clock;
  readonly log: Log;
  readonly signal: AbortSignal;
}

/** Opens a way out for one command; rejects with the keeper's refusal when there is none. */
export type OpenEgress = (options: EgressOptions) => Promise<Egress>;

/** Tunnels that wait for a connection: npm opens fifteen at once. */
const parkedTunnels = 16;
const againMs = 500;

const proxy = `http://127.0.0.1:${egressPort}`;
const noProxy = '127.0.0.1,localhost';
/** Keeps programs that use a proxy of their image from asking it for the local port. */
export const ownEnvironment: Readonly<Record<string, string>> = { NO_PROXY: noProxy, no_proxy: noProxy };
const environment: Readonly<Record<string, string>> = {
  ...Object.fromEntries(['HTTPS_PROXY', 'HTTP_PROXY', 'ALL_PROXY'].flatMap((name) => [[name, proxy], [name.toLowerCase(), proxy]])),
  ...ownEnvironment,
}; // prettier-ignore

const listedIn = {
  Registries: 'egress.registries of the platform',
  Allowed: 'spec.policy.network.hosts, of those that the pool allows',
} as const;

/** Makes ways out that dial by the rules of their reach. */
export function createEgress(openDialer: OpenDialer): OpenEgress {
  return async (options) => {
    const session = new Session(options, openDialer(options.reach.rules));
    await session.begin();
    return { environment, close: () => session.close() };
  };
}

class Session {
  readonly #options: EgressOptions;
  readonly #dialer: Dialer;
  readonly #hosts: HostList;
  readonly #journal = new EgressJournal();
  readonly #ending = new AbortController();
  readonly #tunnels = new Set<Duplex>();
  readonly #serving = new Set<Promise<void>>();
  #waiting = 0;

  constructor(options: EgressOptions, dialer: Dialer) {
    this.#options = options;
    this.#dialer = dialer;
    this.#hosts = new HostList(options.reach.hosts);
  }

  /** The first tunnel shows whether egress works; the others are awaited, so that a first burst finds them. */
  async begin(): Promise<void> {
    try {
      await this.#park();
      await Promise.allSettled(Array.from({ length: parkedTunnels - 1 }, () => this.#park()));
    } catch (error) {
      await this.close();
      throw error;
    }
  }

  async close(): Promise<void> {
    this.#ending.abort();
    for (const tunnel of this.#tunnels) tunnel.destroy();
    await Promise.all(this.#serving);
    const data = this.#journal.take();
    if (data !== null) await this.#options.note(data);
  }

  async #park(): Promise<void> {
    const { clock, keeper, signal, reach, own } = this.#options;
    this.#waiting += 1;
    let taken = false;
    const give = (): void => {
      if (!taken) this.#waiting -= 1;
      taken = true;
    };
    let tunnel: Duplex;
    try {
      tunnel = await keeper.egress(AbortSignal.any([signal, this.#ending.signal]));
    } catch (error) {
      give();
      throw error;
    }
    this.#tunnels.add(tunnel);
    const onTaken = (): void => {
      give();
      this.#refill();
    };
    const onRequest = this.#journal.add.bind(this.#journal);
    const ports = { hosts: this.#hosts, listedIn: listedIn[reach.mode], dialer: this.#dialer, clock, signal: this.#ending.signal };
    const serving = serveTunnel(tunnel, { ...ports, own, onTaken, onRequest }).then(() => {
      this.#tunnels.delete(tunnel);
      this.#serving.delete(serving);
      if (taken) return;
      give();
      // The keeper let it go: not at once again.
      this.#options.clock.after(againMs, () => this.#refill());
    });
    this.#serving.add(serving);
    if (this.#ending.signal.aborted) tunnel.destroy();
  }

  #refill(): void {
    if (this.#ending.signal.aborted || this.#options.signal.aborted || this.#waiting >= parkedTunnels) return;
    this.#park().catch((error: unknown) => {
      if (this.#ending.signal.aborted) return;
      this.#options.log.warn('a tunnel could not be parked', { error: asError(error).message });
      this.#options.clock.after(againMs, () => this.#refill());
    });
  }
}
