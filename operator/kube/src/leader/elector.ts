import { type Clock, microTimestamp, sleep, type Random } from '../runtime/clock.ts';
import type { Fence } from '../transport/types.ts';
import { defineResource, type KubeObject } from '../api/resource.ts';
import { Registry } from 'prom-client';
import { asError, KubeError } from '../runtime/errors.ts';
import type { Log } from '../runtime/log.ts';
import { gauge } from '../runtime/metrics.ts';
import { isConflict } from '../transport/apiError.ts';

/**
 * Up while the lease was renewed within the renew deadline, by this process's monotonic clock, counted from *before*
 * the renewal was sent. Others take the lease a lease duration after they saw that renewal, so with durations of 15 and
 * 10 s a leader's fence falls before its successor's rises as long as no clock runs 1.5 times as fast as another.
 */
export class LeaseFence implements Fence {
  readonly #clock: Clock;
  readonly #renewDeadlineMs: number;
  #renewedAt: number | undefined;

  constructor(clock: Clock, renewDeadlineMs: number) {
    this.#clock = clock;
    this.#renewDeadlineMs = renewDeadlineMs;
  }

  remainingMs(): number {
    return this.#renewedAt === undefined ? 0 : this.#renewedAt + this.#renewDeadlineMs - this.#clock.monotonic();
  }

  get up(): boolean {
    return this.remainingMs() > 0;
  }

  /** A renewal that was sent at this time, monotonic ms, succeeded. */
  renewed(sentAt: number): void {
    this.#renewedAt = sentAt;
  }

  lower(): void {
    this.#renewedAt = undefined;
  }
}

/** `coordination.k8s.io/v1` Lease. */
export interface Lease extends KubeObject {
  readonly spec?: {
    readonly holderIdentity?: string;
    readonly leaseDurationSeconds?: number;
    readonly acquireTime?: string;
    readonly renewTime?: string;
    readonly leaseTransitions?: number;
  };
}

export const leases = defineResource<Lease>('coordination.k8s.io/v1', 'Lease', 'leases');

/** The three calls that an elector makes; a `ResourceClient<Lease>` has them. It must not be fenced. */
export interface LeaseClient {
  find(name: { readonly namespace: string; readonly name: string }, options: LeaseCall): Promise<Lease | undefined>;
  create(lease: Lease, options: LeaseCall): Promise<Lease>;
  update(lease: Lease, options: LeaseCall): Promise<Lease>;
}

export interface LeaseCall {
  readonly signal?: AbortSignal | undefined;
  readonly timeoutMs?: number;
}

export interface ElectorOptions {
  readonly client: LeaseClient;
  readonly namespace: string;
  readonly name: string;
  /** `<hostname>_<uuid>`: new at every start, so that a restarted process is another candidate. */
  readonly identity: string;
  readonly clock: Clock;
  readonly random: Random;
  readonly log: Log;
  /** Defaults 15, 10 and 2 s (client-go tools/leaderelection). */
  readonly leaseDurationMs?: number;
  readonly renewDeadlineMs?: number;
  readonly retryPeriodMs?: number;
  readonly registry?: Registry | undefined;
}

/** client-go's jitter of a wait; the renew deadline has to be longer than one. */
const jitterFactor = 1.2;

interface Seen {
  readonly lease: Lease;
  /** Time at which this process saw the record change, monotonic ms: expiry is judged by that, never by the time in the record. */
  readonly at: number;
}

/** Takes and holds a Lease: client-go's algorithm (tools/leaderelection/leaderelection.go), and a fence for writes. */
export class LeaderElector {
  readonly fence: LeaseFence;
  readonly #options: ElectorOptions;
  readonly #leaseMs: number;
  readonly #renewMs: number;
  readonly #retryMs: number;
  readonly #status: (leader: boolean) => void;
  #seen: Seen | undefined;
  #lastRenew = -Infinity;
  #leading = false;

  constructor(options: ElectorOptions) {
    this.#options = options;
    this.#leaseMs = options.leaseDurationMs ?? 15_000;
    this.#renewMs = options.renewDeadlineMs ?? 10_000;
    this.#retryMs = options.retryPeriodMs ?? 2_000;
    if (!(this.#leaseMs > this.#renewMs && this.#renewMs > jitterFactor * this.#retryMs && this.#retryMs > 0)) {
      throw new RangeError('leader election needs leaseDuration > renewDeadline > 1.2 × retryPeriod > 0');
    }
    this.fence = new LeaseFence(options.clock, this.#renewMs);
    this.#status = this.#gauge(options.registry ?? new Registry());
  }

  get isLeader(): boolean {
    return this.#leading;
  }

  /** Returns the holder of the lease as far as this process knows; empty when no process holds it. */
  get holder(): string {
    return this.#seen?.lease.spec?.holderIdentity ?? '';
  }

  /** False when this process leads and has not renewed for the lease and 20 s more: its event loop or network hangs. */
  get healthy(): boolean {
    return !this.#leading || this.#options.clock.monotonic() - this.#lastRenew <= this.#leaseMs + 20_000;
  }

  /** Waits for the lease; false when the signal was aborted first. */
  async acquire(signal: AbortSignal): Promise<boolean> {
    const { clock, random } = this.#options;
    while (!signal.aborted) {
      if (await this.#try(signal)) {
        this.#leading = true;
        this.#status(true);
        return true;
      }
      // No process waits in step with the others: retry·[0.5, 1), shorter than client-go's, as an expiry is counted from
      // when a renewal was seen; and never beyond the expiry itself, so that a dead holder is followed at once.
      const wait = this.#retryMs * (0.5 + 0.5 * random());
      await sleep(clock, Math.min(wait, this.#untilFreeMs()), signal);
    }
    return false;
  }

  /** Keeps the lease. Resolves when the signal is aborted, still leading; rejects with AF_LEADERSHIP_LOST. */
  async hold(signal: AbortSignal): Promise<void> {
    const { clock } = this.#options;
    while (await sleep(clock, this.#retryMs, signal)) {
      while (!(await this.#try(signal)) && !signal.aborted) {
        const taken = this.holder !== '' && this.holder !== this.#options.identity;
        if (taken || !this.fence.up) throw this.#lost();
        await sleep(clock, Math.min(this.#retryMs, Math.max(1, this.fence.remainingMs())), signal);
      }
    }
  }

  /** Gives the lease up, so that another one takes it at once. To be called after the last write; lowers the fence first. */
  async release(): Promise<void> {
    const lease = this.#seen?.lease;
    const mine = this.#leading && lease?.spec?.holderIdentity === this.#options.identity;
    this.#resign();
    if (!mine || lease === undefined) return;
    try {
      await this.#writeRelease(lease).catch(async (error: unknown) => {
        if (!isConflict(error)) throw error;
        // A renewal that was cut off may have reached the server: its version is newer than the one known here.
        const { client, namespace, name, identity } = this.#options;
        const present = await client.find({ namespace, name }, { timeoutMs: this.#callMs() });
        if (present?.spec?.holderIdentity === identity) await this.#writeRelease(present);
      });
    } catch (error) {
      this.#options.log.warn('the lease was not released', { error: asError(error).message });
    }
  }

  async #writeRelease(lease: Lease): Promise<void> {
    const now = microTimestamp(this.#options.clock.now());
    const leaseTransitions = lease.spec?.leaseTransitions ?? 0;
    const spec = { holderIdentity: '', leaseDurationSeconds: 1, acquireTime: now, renewTime: now, leaseTransitions };
    await this.#options.client.update({ ...lease, spec }, { timeoutMs: this.#callMs() });
  }

  #resign(): void {
    this.fence.lower();
    this.#leading = false;
    this.#status(false);
  }

  #lost(): KubeError {
    const { namespace, name } = this.#options;
    this.#resign();
    const what = this.holder === this.#options.identity ? 'not renewed in time' : `taken by ${JSON.stringify(this.holder)}`;
    return new KubeError('AF_LEADERSHIP_LOST', {
      what,
      where: `lease ${namespace}/${name}`,
      cure: 'Exit; the next start is a new candidate',
    });
  }

  #callMs(): number {
    return Math.max(1000, this.#renewMs / 2);
  }

  /** One try to take or renew; true when we hold the lease now. Never rejects. */
  async #try(signal: AbortSignal): Promise<boolean> {
    const sentAt = this.#options.clock.monotonic();
    try {
      const lease = await this.#write(sentAt, signal);
      if (lease === undefined) return false;
      this.#observe(lease);
      // An answer that took longer than the deadline must not raise a fence that has to be down.
      if (this.#options.clock.monotonic() - sentAt >= this.#renewMs) return false;
      this.#lastRenew = sentAt;
      this.fence.renewed(sentAt);
      return true;
    } catch (error) {
      if (!signal.aborted && !isConflict(error)) this.#options.log.warn('lease call failed', { error: asError(error).message });
      return false;
    }
  }

  async #write(now: number, signal: AbortSignal): Promise<Lease | undefined> {
    const { client, namespace, name, identity } = this.#options;
    const call = { signal, timeoutMs: this.#callMs() };
    // Fast path: what we hold is renewed without reading; a conflict shows when it is not ours any more.
    if (this.#leading && this.holder === identity && this.#seen !== undefined) {
      try {
        return await client.update(this.#record(this.#seen.lease), call);
      } catch (error) {
        if (!isConflict(error)) throw error;
      }
    }
    const present = await client.find({ namespace, name }, call);
    if (present === undefined) return client.create(this.#record(undefined), call);
    this.#observe(present);
    if (!this.#free(now)) return undefined;
    return client.update(this.#record(present), call);
  }

  #observe(lease: Lease): void {
    // By the version too: with a wall clock that was set back, a renewal may write a time that stood there before.
    const known = this.#seen?.lease;
    const changed =
      lease.metadata.resourceVersion !== known?.metadata.resourceVersion || JSON.stringify(lease.spec) !== JSON.stringify(known?.spec);
    const at = changed ? this.#options.clock.monotonic() : (this.#seen?.at ?? this.#options.clock.monotonic());
    this.#seen = { lease, at };
  }

  /** Ms until the lease of another holder is free unless it is renewed; Infinity when it is free already, or not known. */
  #untilFreeMs(): number {
    if (this.#seen === undefined) return Infinity;
    const left = this.#seen.at + this.#durationMs(this.#seen.lease) - this.#options.clock.monotonic();
    return left >= 0 ? left + 1 : Infinity;
  }

  #durationMs({ spec }: Lease): number {
    return Math.max(this.#leaseMs, (spec?.leaseDurationSeconds ?? 0) * 1000);
  }

  /** Ours, released, or unchanged for its own duration since we saw it change. */
  #free(now: number): boolean {
    const spec = this.#seen?.lease.spec;
    if (!spec?.holderIdentity || spec.holderIdentity === this.#options.identity) return true;
    return this.#seen !== undefined && this.#seen.at + this.#durationMs(this.#seen.lease) < now;
  }

  #record(present: Lease | undefined): Lease {
    const { namespace, name, identity, clock } = this.#options;
    const old = present?.spec;
    const wall = microTimestamp(clock.now());
    // A write that changes nothing makes no version: a wall clock that stands still must not hide a renewal.
    const now = wall === old?.renewTime ? microTimestamp(clock.now() + 1) : wall;
    const kept = old?.holderIdentity === identity;
    const transitions = old?.leaseTransitions ?? 0;
    const spec = {
      holderIdentity: identity,
      leaseDurationSeconds: Math.ceil(this.#leaseMs / 1000),
      acquireTime: kept ? (old.acquireTime ?? now) : now,
      renewTime: now,
      leaseTransitions: present === undefined || kept ? transitions : transitions + 1,
    };
    return { ...present, metadata: present?.metadata ?? { namespace, name }, spec };
  }

  #gauge(registry: Registry): (leader: boolean) => void {
    const { name } = this.#options;
    const help = 'Whether the reporting system is master of the relevant lease, 0 indicates backup, 1 indicates master.';
    const made = gauge(registry, { name: 'leader_election_master_status', help, labelNames: ['name'] });
    made.set({ name }, 0);
    return (leader) => made.set({ name }, leader ? 1 : 0);
  }
}
