import { keyOf, type Clock, type Handler, type Lease, type ObjectKey } from '@agentfleet/kube';
import { workerLease } from '@agentfleet/protocol/pool';

interface Beat {
  readonly renewTime: string;
  /** Monotonic ms at which this process saw the renewal. */
  readonly at: number;
}

/**
 * Which workers are alive. Like an elector it counts from when a renewal was *seen*, so that the clocks of nodes may
 * differ; only what is long dead when it is first seen is told by the time in the Lease.
 */
export class Heartbeats {
  readonly #clock: Clock;
  readonly #beats = new Map<ObjectKey, Beat>();

  constructor(leases: { addHandler(handler: Handler<Lease>): unknown }, clock: Clock) {
    this.#clock = clock;
    leases.addHandler({
      onAdd: (lease) => this.#see(lease),
      onUpdate: (_, lease) => this.#see(lease),
      onDelete: (lease) => void this.#beats.delete(keyOf(lease)),
    });
  }

  /** Whether the Lease of this name was renewed within its duration. */
  fresh(name: { readonly namespace: string; readonly name: string }): boolean {
    const beat = this.#beats.get(`${name.namespace}/${name.name}`);
    return beat !== undefined && this.#clock.monotonic() - beat.at <= workerLease.duration * 1000;
  }

  #see(lease: Lease): void {
    const key = keyOf(lease);
    const { renewTime, holderIdentity } = lease.spec ?? {};
    if (renewTime === undefined || !holderIdentity) {
      this.#beats.delete(key);
      return;
    }
    const known = this.#beats.get(key);
    if (known?.renewTime === renewTime) return;
    const age = this.#clock.now() - Date.parse(renewTime);
    // Ages that no clock of a cluster is wrong by.
    const dead = known === undefined && age > 3 * workerLease.duration * 1000;
    this.#beats.set(key, { renewTime, at: dead ? -Infinity : this.#clock.monotonic() });
  }
}
