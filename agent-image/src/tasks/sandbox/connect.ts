import type { AgentTask, Run, OpenSandbox } from '@agentfleet/protocol/api';
import { isolationLevels, type IsolationLevel, type KeeperInfo, execBounds, keeperPort } from '@agentfleet/protocol/keeper';
import type { PoolBrief } from '@agentfleet/protocol/pool';
import { AttemptFailure, isSuperseded } from '../../base/failure.ts';
import { Waiters } from '../../base/waiters.ts';
import { Agent } from 'undici';
import { asError, Backoff, sleep, type Clock, type Random, type TokenSource, findCondition, type Log } from '@agentfleet/kube';
import { KeeperClient } from '@agentfleet/keeper/client';

/** Returns the stronger demand of pool and task. */
export function floorOf(pool: Pick<PoolBrief, 'minIsolation'>, task: Pick<AgentTask, 'spec'>): IsolationLevel {
  const own = task.spec.policy.minIsolation ?? 'Container';
  return isolationLevels.indexOf(own) > isolationLevels.indexOf(pool.minIsolation) ? own : pool.minIsolation;
}

/** Returns `status.run.isolation` from the keeper's report; undefined while it is still probing. */
export function probed({ isolation, network }: Pick<KeeperInfo, 'isolation' | 'network'>): Run['isolation'] | undefined {
  if (isolation === null || network.state === 'Probing') return undefined;
  const { level, runtimeClass } = isolation;
  return { level, network: network.state, ...(runtimeClass === null ? {} : { runtimeClass }) };
}

/**
 * Returns why nothing may run under this isolation; undefined when it suffices. It is a failure of the infrastructure:
 * the same task may run on another node.
 */
export function tooWeak(
  found: NonNullable<Run['isolation']>,
  floor: IsolationLevel,
  allowUnenforcedNetwork: boolean,
): AttemptFailure | undefined {
  if (isolationLevels.indexOf(found.level) < isolationLevels.indexOf(floor)) {
    const mistaken = found.runtimeClass !== undefined && found.level !== 'RuntimeClass';
    const why = mistaken
      ? ` (the kernel inside is not known to be another one than the node's, although the pod has RuntimeClass ${found.runtimeClass})`
      : '';
    const message = `the sandbox has isolation ${found.level}${why} and needs ${floor}; offer nodes that have it, or lower minIsolation of the pool or task`;
    return new AttemptFailure('Infrastructure', 'IsolationTooWeak', message);
  }
  if (found.network === 'Enforced' || allowUnenforcedNetwork) return undefined;
  const message = `the network of the sandbox is ${found.network}; install a network plugin that enforces NetworkPolicy, or set spec.policy.allowUnenforcedNetwork of the pool`;
  return new AttemptFailure('Infrastructure', 'NetworkNotEnforced', message);
}

/** The sandbox pod of one assignment, as the status of the task reports it: until it is ready, and then whether it is still there. */
export class SandboxPod {
  readonly name: string;
  readonly #lost = new AbortController();
  readonly #waiters = new Waiters();
  #open: OpenSandbox | undefined;

  constructor(name: string) {
    this.name = name;
  }

  /** Aborted when the pod that was ready once is reported no more, or is another one. A container that restarts is no loss. */
  get lost(): AbortSignal {
    return this.#lost.signal;
  }

  see({ status }: AgentTask): void {
    const reported = status?.sandbox;
    if (this.#open !== undefined) {
      if (reported?.uid !== this.#open.uid) this.#lost.abort(new Error(`sandbox pod ${this.name} is lost: ${whyNot(status)}`));
      return;
    }
    if (reported === undefined || status?.assignment?.sandbox !== this.name) return;
    this.#open = reported;
    this.#waiters.wake();
  }

  /** Resolves when the pod is ready and has an address. Rejects with the signal's reason. */
  async ready(signal: AbortSignal): Promise<OpenSandbox> {
    for (;;) {
      signal.throwIfAborted();
      if (this.#open !== undefined) return this.#open;
      await this.#waiters.next(signal);
    }
  }
}

function whyNot(status: AgentTask['status']): string {
  return status?.sandbox === undefined ? 'it was deleted, or has ended' : `the task has another one, ${status.assignment?.sandbox ?? ''}`;
}

interface ConnectorOptions {
  readonly tokens: TokenSource;
  readonly clock: Clock;
  readonly random: Random;
  readonly port?: number;
}

interface SandboxRef {
  readonly name: string;
  readonly epoch: number;
}

/** A sandbox that answers. */
export interface Sandbox {
  readonly keeper: KeeperClient;
  readonly isolation: NonNullable<Run['isolation']>;
  readonly lost: AbortSignal;
}

/** Longest time for which a keeper whose pod is ready may refuse or be silent, ms. */
const settleMs = 120_000;
const retries = { baseMs: 100, factor: 1.6, capMs: 2000, jitter: 0.2, resetMs: 60_000 };

/** The way to one sandbox; opened at most once, closed with the assignment. */
export class SandboxLink extends SandboxPod {
  readonly #options: ConnectorOptions;
  readonly #ref: SandboxRef;
  readonly #dispatcher: Agent;
  #audience: string | undefined;

  constructor(options: ConnectorOptions, ref: SandboxRef) {
    super(ref.name);
    this.#options = options;
    this.#ref = ref;
    const silence = 3 * execBounds.keepaliveSeconds * 1000; // three missed keepalives: the peer is gone
    this.#dispatcher = new Agent({ connect: { timeout: 5000 }, bodyTimeout: silence, headersTimeout: 120_000, keepAliveTimeout: 10_000 });
  }

  /**
   * Waits until the pod is ready and its keeper has probed the wall. Rejects with the signal's reason, with the keeper's
   * refusal of a stale epoch, or with an AttemptFailure of class Infrastructure.
   */
  async open(signal: AbortSignal): Promise<Sandbox> {
    const { tokens, port = keeperPort } = this.#options;
    const { address, uid } = await this.ready(signal);
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

type Isolation = NonNullable<Run['isolation']>;

/** Interval of reading the keeper's isolation, ms; the keeper probes once a minute. */
const everyMs = 30_000;

/** The wall as it may be reported: not as enforced while the operator knows of a policy that opens it. Pure. */
export function reportedWall(found: Isolation, task: AgentTask): Isolation {
  const opened = findCondition(task.status?.conditions, 'NetworkOpened')?.status === 'True';
  return opened && found.network === 'Enforced' ? { ...found, network: 'NotEnforced' } : found;
}

interface WallWatchOptions {
  readonly keeper: Pick<KeeperClient, 'info'>;
  readonly found: Isolation;
  readonly task: () => AgentTask;
  readonly report: (isolation: Isolation) => void;
  readonly clock: Clock;
  readonly log: Log;
}

/**
 * Reports isolation that opens, or closes, while work runs behind it, until the signal; the operator then ends the
 * attempt where the pool demands isolation. Never rejects: other callers handle an unavailable keeper.
 */
export async function watchWall({ keeper, found, task, report, clock, log }: WallWatchOptions, signal: AbortSignal): Promise<void> {
  let reported = reportedWall(found, task());
  while (!signal.aborted) {
    try {
      await sleep(clock, everyMs, signal);
      const now = probed(await keeper.info(signal)) ?? found;
      const next = reportedWall(now, task());
      if (next.network === reported.network) continue;
      reported = next;
      log.warn('the wall of the sandbox is another one', { network: next.network });
      report(next);
    } catch (error) {
      if (!signal.aborted) log.info('the wall could not be asked for', { error: asError(error).message });
    }
  }
}
