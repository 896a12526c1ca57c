import { keyOf, type Clock, type Informer, type Lease } from '@agentfleet/kube';
import { workerLease } from '@agentfleet/protocol/pool';

interface Renewal {
  readonly renewTime: string | undefined;
  /** Monotonic ms at which this process saw it. */
  readonly seenAt: number;
}

export interface WorkerLeasesOptions {
  readonly leases: Pick<Informer<Lease>, 'addHandler'>;
  readonly clock: Clock;
  /** Told when a worker lives that was unknown or lost before. */
  readonly onFresh: (key: string) => void;
}

const durationMs = workerLease.duration * 1000;

/** How far clocks of nodes may differ before a Lease seen for the first time is taken for an old one. */
const skewMs = 60_000;

/**
 * Which workers live. As in client-go's leader election, a Lease is fresh for its duration since this process saw it
 * change, by the monotonic clock: clocks of nodes need not agree. Only one that is seen for the first time is also judged
 * by its own time, so that workers that died long ago do not come to life with each start of the operator.
 */
export class WorkerLeases {
  readonly #renewals = new Map<string, Renewal>();
  readonly #options: WorkerLeasesOptions;
  readonly stop: () => void;

  constructor(options: WorkerLeasesOptions) {
    this.#options = options;
    this.stop = options.leases.addHandler({
      onAdd: (lease) => this.#see(lease),
      onUpdate: (_, lease) => this.#see(lease),
      onDelete: (lease) => this.#renewals.delete(keyOf(lease)),
    });
  }

  /** Ms for which the worker lives unless it renews; 0 when it is lost or has no Lease. */
  freshMs(key: string): number {
    const renewal = this.#renewals.get(key);
    return renewal === undefined ? 0 : Math.max(0, renewal.seenAt + durationMs - this.#options.clock.monotonic());
  }

  #see(lease: Lease): void {
    const key = keyOf(lease);
    const { clock, onFresh } = this.#options;
    const { renewTime, holderIdentity } = lease.spec ?? {};
    if (holderIdentity === undefined || holderIdentity === '') {
      // Given back by a worker that stops.
      this.#renewals.delete(key);
      return;
    }
    const known = this.#renewals.get(key);
    if (known !== undefined && known.renewTime === renewTime) return;
    const fresh = this.freshMs(key) > 0;
    const age = clock.now() - Date.parse(renewTime ?? '');
    const dead = known === undefined && !(age <= durationMs + skewMs);
    this.#renewals.set(key, { renewTime, seenAt: dead ? -Infinity : clock.monotonic() });
    if (!fresh && !dead) onFresh(key);
  }
}
