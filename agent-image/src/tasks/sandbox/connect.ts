import { Agent } from 'undici';
import { asError, Backoff, sleep, type Clock, type Random, type TokenSource } from '@agentfleet/kube';
import { KeeperClient } from '@agentfleet/keeper/client';
import type { AgentTask, Run } from '@agentfleet/protocol/api';
import { execBounds, keeperPort, type KeeperInfo } from '@agentfleet/protocol/keeper';
import { AttemptFailure } from '../../attempt/failure.ts';
import { isSuperseded } from '../failures.ts';
import { probed } from './isolation.ts';
import { SandboxPod } from './pod.ts';

export interface ConnectorOptions {
  readonly tokens: TokenSource;
  readonly clock: Clock;
  readonly random: Random;
  /** Port of the keepers; another one in tests. */
  readonly port?: number;
}

/** Which sandbox, and under which assignment. */
export interface SandboxRef {
  readonly name: string;
  readonly epoch: number;
}

/** A sandbox that answers. */
export interface Sandbox {
  readonly keeper: KeeperClient;
  readonly isolation: NonNullable<Run['isolation']>;
  /** Aborted when the pod is gone. */
  readonly lost: AbortSignal;
}

/** How long a keeper whose pod is ready may refuse or be silent, ms. */
const settleMs = 120_000;
const retries = { baseMs: 100, factor: 1.6, capMs: 2000, jitter: 0.2, resetMs: 60_000 };

/** The way to one sandbox; opened at most once, closed with the tenure. */
export class SandboxLink {
  readonly #options: ConnectorOptions;
  readonly #ref: SandboxRef;
  readonly #dispatcher: Agent;
  readonly #pod: SandboxPod;
  #audience: string | undefined;

  constructor(options: ConnectorOptions, ref: SandboxRef) {
    this.#options = options;
    this.#ref = ref;
    const silence = 3 * execBounds.keepaliveSeconds * 1000; // three missed keepalives: nobody is there any more
    this.#dispatcher = new Agent({ connect: { timeout: 5000 }, bodyTimeout: silence, headersTimeout: 120_000, keepAliveTimeout: 10_000 });
    this.#pod = new SandboxPod(ref.name);
  }

  get lost(): AbortSignal {
    return this.#pod.lost;
  }

  /** Takes note of a newer state of the task, which tells where the sandbox is. */
  see(task: AgentTask): void {
    this.#pod.see(task);
  }

  /**
   * Waits until the pod is ready and its keeper has probed the wall. Rejects with the signal's reason, with the keeper's
   * refusal of a stale epoch, or with an AttemptFailure of class Infrastructure.
   */
  async open(signal: AbortSignal): Promise<Sandbox> {
    const { tokens, port = keeperPort } = this.#options;
    const { address, uid } = await this.#pod.ready(signal);
    this.#audience = uid;
    const host = address.includes(':') ? `[${address}]` : address;
    const keeper = new KeeperClient({
      baseUrl: `http://${host}:${port}`,
      token: () => tokens.token(uid),
      epoch: this.#ref.epoch,
      dispatcher: this.#dispatcher,
    });
    const isolation = await this.#settled(keeper, AbortSignal.any([signal, this.lost]));
    return { keeper, isolation, lost: this.lost };
  }

  /** Ends all connections at once. */
  async close(): Promise<void> {
    if (this.#audience !== undefined) this.#options.tokens.forget(this.#audience);
    await this.#dispatcher.destroy();
  }

  async #settled(keeper: KeeperClient, signal: AbortSignal): Promise<NonNullable<Run['isolation']>> {
    const { clock, random } = this.#options;
    const began = clock.monotonic();
    const backoff = new Backoff(retries, clock, random);
    let why = '';
    while (clock.monotonic() - began < settleMs) {
      signal.throwIfAborted();
      try {
        const info: KeeperInfo = await keeper.info(signal);
        const isolation = probed(info);
        if (isolation !== undefined) return isolation;
        why = info.reason ?? 'the wall is still being probed';
      } catch (error) {
        signal.throwIfAborted();
        if (isSuperseded(error)) throw error;
        why = asError(error).message;
      }
      await sleep(clock, backoff.next(), signal);
    }
    const message = `sandbox pod ${this.#ref.name} is ready, but its keeper was not within ${settleMs / 1000} s: ${why}; see the log of its keeper`;
    throw new AttemptFailure('Infrastructure', 'SandboxNotReady', message);
  }
}
