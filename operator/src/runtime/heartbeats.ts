import { keyOf, type Clock, type Handler, type Lease, type ObjectKey, type Timer, sourceOf, type Source } from '@agentfleet/kube';
import { workerLease } from '@agentfleet/protocol/pool';

interface Beat {
  readonly renewTime: string;
  /** Monotonic ms at which this process saw the renewal. */
  readonly at: number;
}

const durationMs = workerLease.duration * 1000;

/**
 * Live workers. Like an elector it counts from when a renewal was *seen*, so that the clocks of nodes may differ; only a worker
 * that is long dead when it is first seen is judged by the time in the Lease.
 */
export class Heartbeats {
  readonly #clock: Clock;
  readonly #beats = new Map<ObjectKey, Beat>();
  /** One for each live worker, however many tasks it has. */
  readonly #timers = new Map<ObjectKey, Timer>();
  readonly #listeners = new Set<(key: ObjectKey) => void>();

  constructor(leases: { addHandler(handler: Handler<Lease>): unknown }, clock: Clock) {
    this.#clock = clock;
    leases.addHandler({
      onAdd: (lease) => this.#see(lease),
      onUpdate: (_, lease) => this.#see(lease),
      onDelete: (lease) => this.#forget(keyOf(lease)),
    });
  }

  /** Ms until the worker of this `namespace/name` is lost unless it renews its Lease; 0 when it is lost or has none. */
  freshMs(key: ObjectKey): number {
    const beat = this.#beats.get(key);
    return beat === undefined ? 0 : Math.max(0, beat.at + durationMs - this.#clock.monotonic());
  }

  /** Calls `listener` with the key of each Lease that becomes fresh, is no longer fresh, or is gone: `freshMs` distinguishes them. */
  onChange(listener: (key: ObjectKey) => void): () => void {
    this.#listeners.add(listener);
    return () => this.#listeners.delete(listener);
  }

  #see(lease: Lease): void {
    const key = keyOf(lease);
    const { renewTime, holderIdentity } = lease.spec ?? {};
    if (renewTime === undefined || !holderIdentity) {
      this.#forget(key);
      return;
    }
    const known = this.#beats.get(key);
    if (known?.renewTime === renewTime) return;
    const age = this.#clock.now() - Date.parse(renewTime);
    // Ages that no clock of a cluster is wrong by.
    const dead = known === undefined && age > 3 * durationMs;
    const wasFresh = known !== undefined && known.at + durationMs > this.#clock.monotonic();
    this.#beats.set(key, { renewTime, at: dead ? -Infinity : this.#clock.monotonic() });
    if (dead) return;
    if (!this.#timers.has(key)) this.#watch(key);
    if (!wasFresh) this.#tell(key);
  }

  /** A renewal leaves the timer as it is: it asks again when it fires, once in the life of a Lease and not at each renewal. */
  #watch(key: ObjectKey): void {
    const fire = (): void => {
      this.#timers.delete(key);
      if (this.freshMs(key) > 0) this.#watch(key);
      else this.#tell(key);
    };
    this.#timers.set(key, this.#clock.after(this.freshMs(key), fire));
  }

  #forget(key: ObjectKey): void {
    this.#timers.get(key)?.cancel();
    this.#timers.delete(key);
    if (this.#beats.delete(key)) this.#tell(key);
  }

  #tell(key: ObjectKey): void {
    for (const listener of this.#listeners) listener(key);
  }
}

/** State of the cluster that changes without an event of a cache. */
export interface Changing {
  /** Calls the listener after every change; the function returned ends that. */
  onChange(listener: () => void): () => void;
}

/** A source that fires for all of `keys` at every change. */
export function changeSource(of: Changing, keys: () => readonly string[]): Source {
  return sourceOf('changes', (enqueue) =>
    of.onChange(() => {
      for (const key of keys()) enqueue(key);
    }),
  );
}
