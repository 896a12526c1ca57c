import { asError, isKubeError, KubeError } from '../runtime/errors.ts';
import type { Registry } from 'prom-client';
import { firstListMs, sleep, systemClock, type Clock } from '../runtime/clock.ts';
import { silentLog, type Log } from '../runtime/log.ts';
import type { LeaderElector } from '../leader/elector.ts';
import { type Check, serveEndpoints, type Authorize, type Endpoints } from './endpoints.ts';

/** Runs until the signal is aborted. Rejecting stops the whole process. */
export interface Runnable {
  run(signal: AbortSignal): Promise<void>;
}

/** Parts that are started and stopped together. */
class RunnableGroup {
  readonly #stopAll: AbortController;
  readonly #own = new AbortController();
  #running: Promise<void>[] = [];
  /** The first error of a part. */
  failure: Error | undefined;

  /** `stopAll` is aborted when a part fails. */
  constructor(stopAll: AbortController) {
    this.#stopAll = stopAll;
  }

  start(runnables: readonly Runnable[]): void {
    this.#running = runnables.map(async (runnable) => {
      try {
        await runnable.run(this.#own.signal);
      } catch (error) {
        this.failure ??= asError(error);
        this.#stopAll.abort();
      }
    });
  }

  /** Asks all parts to stop and resolves when they have. */
  async stop(): Promise<void> {
    this.#own.abort();
    await Promise.all(this.#running);
  }
}

/** A cache that has to be full before work begins; an `Informer` is one. */
export interface ManagedCache extends Runnable {
  readonly name: string;
  /** Error with which the server refuses the resource; readiness reports it. */
  readonly refusal?: Error | undefined;
  hasSynced(): boolean;
  waitForSync(timeoutMs: number, signal?: AbortSignal): Promise<void>;
}

/** Work of the leader that can be ended at once; a `Controller` is one. */
export interface LeaderRunnable extends Runnable {
  kill?(): void;
}

export interface ManagerOptions {
  readonly clock?: Clock;
  readonly log?: Log;
  readonly registry?: Registry | undefined;
  readonly elector?: LeaderElector | undefined;
  /** Port and host at which /healthz and /readyz are served. */
  readonly probes?: { readonly port: number; readonly host?: string };
  /** Port and host at which /metrics is served. */
  readonly metrics?: { readonly port: number; readonly host?: string; readonly authorize?: Authorize | undefined };
  /** Runs before all parts, while probes are answered already. Rejecting stops the whole process. */
  readonly prepare?: (signal: AbortSignal) => Promise<void>;
  /** Whole time of a stop; default 30 s, so terminationGracePeriodSeconds must be more. */
  readonly gracefulMs?: number;
}

/** Starts the parts of an operator in their order and stops them in the reverse one (controller-runtime pkg/manager). */
export class Manager {
  readonly #options: ManagerOptions;
  readonly #clock: Clock;
  readonly #log: Log;
  readonly #caches: ManagedCache[] = [];
  readonly #always: Runnable[] = [];
  readonly #leader: LeaderRunnable[] = [];
  readonly #health = new Map<string, Check>();
  readonly #ready = new Map<string, Check>();
  #endpoints: Endpoints[] = [];

  constructor(options: ManagerOptions = {}) {
    this.#options = options;
    this.#clock = options.clock ?? systemClock;
    this.#log = options.log ?? silentLog;
    this.#health.set('ping', () => {});
    const { elector } = options;
    if (elector === undefined) return;
    this.#health.set('leader-election', () => {
      if (!elector.healthy) throw new Error('leads, but has not renewed the lease');
    });
  }

  /** Caches are filled on every replica, so that a standby takes over warm. */
  addCache(cache: ManagedCache): this {
    this.#caches.push(cache);
    this.#ready.set(`cache-${cache.name}`, () => {
      if (!cache.hasSynced()) throw new Error('not synced');
      if (cache.refusal !== undefined) throw cache.refusal;
    });
    return this;
  }

  /** Runs on every replica after the caches. */
  add(runnable: Runnable): this {
    this.#always.push(runnable);
    return this;
  }

  /** Runs on the leader only. */
  addController(controller: LeaderRunnable): this {
    this.#leader.push(controller);
    return this;
  }

  /** Ports in use, in the order probes, metrics. */
  get ports(): readonly number[] {
    return this.#endpoints.map((endpoint) => endpoint.port);
  }

  /**
   * Runs until the signal is aborted and everything stopped. Rejects when a part failed or the lease was lost: the process
   * must exit then, because only a new process is a clean candidate. The lease is released after the last write.
   */
  async run(signal: AbortSignal): Promise<void> {
    const stop = new AbortController();
    const onStop = (): void => stop.abort();
    signal.addEventListener('abort', onStop, { once: true });
    if (signal.aborted) stop.abort();
    const groups = { caches: new RunnableGroup(stop), always: new RunnableGroup(stop), leader: new RunnableGroup(stop) };
    let failure: Error | undefined;
    try {
      await this.#serve();
      await this.#start(groups, stop.signal);
    } catch (error) {
      if (!stop.signal.aborted) failure = asError(error);
    }
    failure ??= groups.leader.failure ?? groups.always.failure ?? groups.caches.failure;
    stop.abort();
    signal.removeEventListener('abort', onStop);
    const unclean = await this.#stop(groups, isKubeError(failure, 'AF_LEADERSHIP_LOST'));
    failure ??= unclean;
    if (failure !== undefined) throw failure;
  }

  async #serve(): Promise<void> {
    const { probes, metrics, registry } = this.#options;
    if (probes !== undefined)
      this.#endpoints.push(await serveEndpoints({ ...probes, health: this.#health, ready: this.#ready, log: this.#log }));
    if (metrics !== undefined) this.#endpoints.push(await serveEndpoints({ ...metrics, registry }));
  }

  /** Resolves when the signal is aborted or a part failed. */
  async #start(groups: Groups, signal: AbortSignal): Promise<void> {
    const { elector, prepare } = this.#options;
    await prepare?.(signal);
    if (signal.aborted) return;
    groups.caches.start(this.#caches);
    await Promise.all(this.#caches.map((cache) => cache.waitForSync(firstListMs, signal)));
    if (signal.aborted) return;
    groups.always.start(this.#always);
    if (elector !== undefined && !(await elector.acquire(signal))) return;
    this.#log.info('leading');
    groups.leader.start(this.#leader);
    if (elector !== undefined) await elector.hold(signal);
    else await aborted(signal);
  }

  /** Controllers first, while the lease is still held; then the lease, the others, the caches, the ports. */
  async #stop(groups: Groups, lost: boolean): Promise<Error | undefined> {
    const { elector, gracefulMs = 30_000 } = this.#options;
    const until = this.#clock.monotonic() + (lost ? 0 : gracefulMs);
    // Renewed on while the last reconciles end; without it the fence would fall under them.
    const renewing = new AbortController();
    const renewal = elector?.isLeader ? elector.hold(renewing.signal).catch(() => {}) : Promise.resolve();
    const late: string[] = [];
    if (!(await this.#end(groups.leader, until))) {
      late.push('controllers');
      for (const runnable of this.#leader) runnable.kill?.();
    }
    renewing.abort();
    await renewal;
    await elector?.release();
    if (!(await this.#end(groups.always, until))) late.push('runnables');
    if (!(await this.#end(groups.caches, until))) late.push('caches');
    await Promise.all(this.#endpoints.map((endpoint) => endpoint.close()));
    if (late.length === 0 || lost) return undefined;
    return new KubeError('AF_MANAGER', {
      what: `${late.join(', ')} did not stop within ${gracefulMs} ms`,
      where: 'shutdown',
      cure: 'See which reconcile hangs',
    });
  }

  async #end(group: RunnableGroup, until: number): Promise<boolean> {
    const waiting = new AbortController();
    const ended = group.stop().then(() => true);
    const timeout = sleep(this.#clock, Math.max(0, until - this.#clock.monotonic()), waiting.signal).then(() => false);
    const clean = await Promise.race([ended, timeout]);
    waiting.abort();
    return clean;
  }
}

interface Groups {
  readonly caches: RunnableGroup;
  readonly always: RunnableGroup;
  readonly leader: RunnableGroup;
}

function aborted(signal: AbortSignal): Promise<void> {
  if (signal.aborted) return Promise.resolve();
  return new Promise((resolve) => signal.addEventListener('abort', () => resolve(), { once: true }));
}
