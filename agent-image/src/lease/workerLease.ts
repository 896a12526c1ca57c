import {
  asError,
  isConflict,
  isNotFound,
  LeaseFence,
  microTimestamp,
  sleep,
  type Clock,
  type Lease,
  type Log,
  type ResourceClient,
  type Timer,
} from '@agentfleet/kube';
import { labels, workerLease } from '@agentfleet/protocol/pool';
import type { WorkerConfig } from '../base/config.ts';

interface WorkerLeaseOptions {
  /** Must not be fenced by this lease. */
  readonly client: Pick<ResourceClient<Lease>, 'find' | 'create' | 'update' | 'delete'>;
  readonly pod: WorkerConfig['pod'];
  readonly pool: string;
  readonly clock: Clock;
  readonly log: Log;
}

/** Between two tries while renewing fails, ms. */
const retryMs = 1000;
/** A longer renewal is aborted, ms; so that two fit into the time before the self-stop. */
const callMs = 4000;

/**
 * Proves that this worker is alive: a Lease with the name of its pod. Its fence is up while the newest renewal is
 * younger than `workerLease.selfStop`, counted from before it was sent, so that it falls before the operator declares
 * the worker lost.
 */
export class WorkerLease {
  readonly fence: LeaseFence;
  readonly #options: WorkerLeaseOptions;
  readonly #listeners = new Set<(fresh: boolean) => void>();
  #held: Lease | undefined;
  #acquiredAt: string | undefined;
  #expiry: Timer | undefined;
  #fresh = false;

  constructor(options: WorkerLeaseOptions) {
    this.#options = options;
    this.fence = new LeaseFence(options.clock, workerLease.selfStop * 1000);
  }

  get fresh(): boolean {
    return this.#fresh && this.fence.up;
  }

  /** Reported whenever the lease became fresh or stale. */
  onChange(listener: (fresh: boolean) => void): void {
    this.#listeners.add(listener);
  }

  /** Renews until the signal is aborted. Never rejects. */
  async run(signal: AbortSignal): Promise<void> {
    const { clock } = this.#options;
    while (!signal.aborted) {
      const renewed = await this.#renew(signal);
      await sleep(clock, renewed ? workerLease.renew * 1000 : retryMs, signal);
    }
    this.#expiry?.cancel();
  }

  /** Takes the Lease away, so that the operator need not wait for it to run out. To be called after the last write. */
  async release(): Promise<void> {
    this.#expiry?.cancel();
    this.fence.lower();
    this.#tell(false);
    const { client, pod, log } = this.#options;
    try {
      await client.delete({ namespace: pod.namespace, name: pod.name }, { timeoutMs: callMs });
    } catch (error) {
      if (!isNotFound(error)) log.warn('the lease was not deleted; it runs out by itself', { error: asError(error).message });
    }
  }

  async #renew(signal: AbortSignal): Promise<boolean> {
    const { clock, log } = this.#options;
    const sentAt = clock.monotonic();
    try {
      this.#held = await this.#write({ signal, timeoutMs: callMs });
    } catch (error) {
      this.#held = undefined;
      if (!signal.aborted) log.warn('the lease was not renewed', { error: asError(error).message });
      return false;
    }
    if (signal.aborted) return true;
    this.fence.renewed(sentAt);
    this.#watchExpiry();
    this.#tell(this.fence.up);
    return true;
  }

  async #write(call: { readonly signal: AbortSignal; readonly timeoutMs: number }): Promise<Lease> {
    const { client, pod } = this.#options;
    if (this.#held !== undefined) {
      try {
        return await client.update(this.#record(this.#held), call);
      } catch (error) {
        if (!isConflict(error) && !isNotFound(error)) throw error;
      }
    }
    const present = await client.find({ namespace: pod.namespace, name: pod.name }, call);
    return present === undefined ? client.create(this.#record(undefined), call) : client.update(this.#record(present), call);
  }

  #record(present: Lease | undefined): Lease {
    const { pod, pool, clock } = this.#options;
    const now = microTimestamp(clock.now());
    this.#acquiredAt ??= now;
    return {
      ...present,
      metadata: {
        ...present?.metadata,
        name: pod.name,
        namespace: pod.namespace,
        labels: { ...present?.metadata.labels, [labels.component]: 'worker', [labels.pool]: pool },
        ownerReferences: [{ apiVersion: 'v1', kind: 'Pod', name: pod.name, uid: pod.uid }],
      },
      spec: {
        holderIdentity: pod.name,
        leaseDurationSeconds: workerLease.duration,
        acquireTime: this.#acquiredAt,
        renewTime: now,
        leaseTransitions: present?.spec?.leaseTransitions ?? 0,
      },
    };
  }

  #watchExpiry(): void {
    this.#expiry?.cancel();
    this.#expiry = this.#options.clock.after(Math.max(0, this.fence.remainingMs()), () => {
      if (this.fence.up) {
        this.#watchExpiry();
        return;
      }
      this.#options.log.warn('the lease is not fresh: all tasks are stopped');
      this.#tell(false);
    });
  }

  #tell(fresh: boolean): void {
    if (fresh === this.#fresh) return;
    this.#fresh = fresh;
    for (const listener of this.#listeners) listener(fresh);
  }
}
