import { createSocket } from 'node:dgram';
import { connect, isIPv6 } from 'node:net';
import type { Target } from '../base/config.ts';
import type { NetworkInfo, ProbeTarget } from '@agentfleet/protocol/keeper';
import { timestamp, type Clock } from '../base/clock.ts';

/** Tries to reach one target: null when it was reached, else the errno name. */
export type Connector = (target: Target, timeoutMs: number) => Promise<string | null>;

/** Real sockets. A refusal counts as unreachable: policy enforcers answer with drops or with resets. */
export const systemConnector: Connector = (target, timeoutMs) =>
  target.by === 'DNS' ? askName(target, timeoutMs) : connectTcp(target, timeoutMs);

function connectTcp(target: Target, timeoutMs: number): Promise<string | null> {
  return new Promise((resolve) => {
    const socket = connect({ host: target.host, port: target.port });
    const finish = (error: string | null): void => {
      socket.destroy();
      resolve(error);
    };
    socket.setTimeout(timeoutMs, () => finish('ETIMEDOUT'));
    socket.once('connect', () => finish(null));
    socket.once('error', (error: NodeJS.ErrnoException) => finish(error.code ?? 'EIO'));
  });
}

/** The name servers of the root, asked with recursion: every DNS server answers something. RFC 1035, 4.1. */
const question = Buffer.from('af1e010000010000000000000000020001', 'hex');

function askName({ host, port }: Target, timeoutMs: number): Promise<string | null> {
  return new Promise((resolve) => {
    const socket = createSocket(isIPv6(host) ? 'udp6' : 'udp4');
    let timer: NodeJS.Timeout | undefined;
    const finish = (error: string | null): void => {
      clearTimeout(timer);
      socket.removeAllListeners().on('error', () => undefined);
      socket.close();
      resolve(error);
    };
    timer = setTimeout(() => finish('ETIMEDOUT'), timeoutMs);
    socket.once('error', (error: NodeJS.ErrnoException) => finish(error.code ?? 'EIO'));
    // Connected, so that only this server's packets and refusals arrive.
    socket.connect(port, host, () => socket.send(question));
    socket.once('message', () => finish(null));
  });
}

interface NetworkProbeOptions {
  readonly targets: readonly Target[];
  readonly connect: Connector;
  readonly clock: Clock;
  /** Called when the state changes, not at every probe. */
  readonly onChange: (info: NetworkInfo) => void;
}

const connectMs = 1000;
const secondRoundMs = 250;
const giveUpMs = 20_000;
const backoffMs = [250, 250, 500, 500, 1000];
const openRetryMs = 10_000;
const recheckMs = 60_000;

/**
 * Tests from inside whether the NetworkPolicy is enforced: targets that a pod without a policy always reaches must not
 * be reachable, twice in a row. An enforcer may be late, so an open network is reported as `NotEnforced` only after 20
 * s; the probe repeats for as long as the keeper lives.
 */
export class NetworkProbe {
  readonly #options: NetworkProbeOptions;
  #info: NetworkInfo = { state: 'Probing', probedAt: null, targets: [] };

  constructor(options: NetworkProbeOptions) {
    this.#options = options;
  }

  get info(): NetworkInfo {
    return this.#info;
  }

  /** Reason that the network is not known to be closed; null when it is. */
  get reason(): string | null {
    if (this.#info.state === 'Enforced') return null;
    if (this.#info.state === 'Probing') return 'the network is still being probed';
    if (this.#options.targets.length === 0)
      return 'there is nothing to probe the network with: neither API server nor node address is known';
    const open = this.#info.targets.filter((target) => target.reachable).map((target) => `${target.name} (${target.address})`);
    return `from inside the sandbox one can reach ${open.join(', ')}`;
  }

  /** Probes until the signal fires; rejects for no other reason. */
  async run(signal: AbortSignal): Promise<void> {
    if (this.#options.targets.length === 0) return this.#publish('NotEnforced', []);
    const startedAt = this.#options.clock.monotonic();
    for (let attempt = 0; !signal.aborted; attempt++) {
      const targets = await this.#closedTwice(signal);
      const open = isOpen(targets);
      const hopeful = this.#info.state === 'Probing' && this.#options.clock.monotonic() - startedAt < giveUpMs;
      if (!open) this.#publish('Enforced', targets);
      else if (!hopeful) this.#publish('NotEnforced', targets);
      const wait = !open ? recheckMs : hopeful ? (backoffMs[attempt] ?? 2000) : openRetryMs;
      await pause(this.#options.clock, wait, signal);
    }
  }

  /**
   * Results of one or two rounds: a network that is found open by the first needs no second. The second does not wait for the time
   * limits of the first: an enforcer that drops packets would cost each sandbox another second before it is ready.
   */
  async #closedTwice(signal: AbortSignal): Promise<readonly ProbeTarget[]> {
    const first = this.#round();
    const apart = pause(this.#options.clock, secondRoundMs, signal);
    const early = await Promise.race([first, apart]);
    if (isOpen(early ?? [])) return first;
    await apart;
    const second = this.#round();
    return isOpen(await first) ? first : second;
  }

  async #round(): Promise<readonly ProbeTarget[]> {
    const tries = this.#options.targets.map(async (target): Promise<ProbeTarget> => {
      const error = await this.#options.connect(target, connectMs);
      return { name: target.name, address: `${target.host}:${target.port}`, reachable: error === null, error };
    });
    return Promise.all(tries);
  }

  #publish(state: NetworkInfo['state'], targets: readonly ProbeTarget[]): void {
    const changed = state !== this.#info.state;
    this.#info = { state, probedAt: timestamp(this.#options.clock), targets };
    if (changed) this.#options.onChange(this.#info);
  }
}

function isOpen(targets: readonly ProbeTarget[]): boolean {
  return targets.some(({ reachable }) => reachable);
}

async function pause(clock: Clock, ms: number, signal: AbortSignal): Promise<void> {
  try {
    await clock.sleep(ms, signal);
  } catch (error) {
    if (!signal.aborted) throw error;
  }
}
