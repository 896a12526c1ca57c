import { timestamp, type Clock } from './clock.ts';
import { KeeperError } from './failure.ts';

/** Who holds the gate, in words that a refusal can repeat. */
export interface Holder {
  /** `command`, `snapshot`, `restore`, `tools restart`, `file transfer`, `diff`. */
  readonly kind: string;
  readonly name: string;
}

/** Gives the gate back; calling it twice is harmless. */
export type Release = () => void;

/**
 * One thing at a time changes or freezes the roots. Commands, snapshots and restores hold the
 * gate exclusively; transfers of single files and reads of the tree share it among themselves.
 * So no process of the user can race a path check, and a snapshot never sees a half-written tree.
 * Nothing waits here: who comes second is told who is first.
 */
export class Gate {
  readonly #clock: Clock;
  #exclusive: { readonly holder: Holder; readonly since: string } | null = null;
  readonly #shared = new Set<Holder>();

  constructor(clock: Clock) {
    this.#clock = clock;
  }

  /** @throws KeeperError `AF_BUSY` naming the holder */
  exclusive(holder: Holder): Release {
    this.#refuseWhenExclusive();
    const [other] = this.#shared;
    if (other !== undefined) throw new KeeperError('AF_BUSY', `${describe(other)} is under way`);
    const held = { holder, since: timestamp(this.#clock) };
    this.#exclusive = held;
    return () => {
      if (this.#exclusive === held) this.#exclusive = null;
    };
  }

  /** @throws KeeperError `AF_BUSY` naming the holder */
  shared(holder: Holder): Release {
    this.#refuseWhenExclusive();
    const held = { ...holder };
    this.#shared.add(held);
    return () => void this.#shared.delete(held);
  }

  #refuseWhenExclusive(): void {
    if (this.#exclusive === null) return;
    throw new KeeperError('AF_BUSY', `${describe(this.#exclusive.holder)} runs since ${this.#exclusive.since}`);
  }
}

function describe(holder: Holder): string {
  return `${holder.kind} ${holder.name}`.trim();
}
