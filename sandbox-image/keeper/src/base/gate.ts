import { timestamp, type Clock } from './clock.ts';
import { KeeperError } from './failure.ts';

/** Who holds the gate, in words that a refusal can repeat. */
export interface Holder {
  /** `command`, `reading command`, `snapshot`, `restore`, `tools restart`, `file transfer`, `diff`. */
  readonly kind: string;
  readonly name: string;
}

/** Gives the gate back; calling it twice is harmless. */
export type Release = () => void;

type Mode = 'Exclusive' | 'Still' | 'Writer' | 'Shared' | 'Reading';

/** What each mode cannot be beside. */
const refuses: Readonly<Record<Mode, readonly Mode[]>> = {
  Exclusive: ['Exclusive', 'Still', 'Writer', 'Shared', 'Reading'],
  Still: ['Exclusive', 'Still', 'Writer', 'Shared'],
  Writer: ['Exclusive', 'Still', 'Writer', 'Shared'],
  Shared: ['Exclusive', 'Still', 'Writer'],
  Reading: ['Exclusive'],
};

interface Held {
  readonly holder: Holder;
  readonly mode: Mode;
  readonly since: string;
}

/**
 * Who may act on the roots at one time. Snapshots, restores and the like have nobody beside them that
 * writes; where files lie in layers that are put away, they are alone. One command writes; commands that the kernel lets only read, and reads of the keeper that withstand a writer,
 * run beside it. Writes of the keeper itself share the roots with readers, not with a command: no
 * process of the user can race a path check. Nothing waits here: who comes second is informed who is first.
 */
export class Gate {
  readonly #clock: Clock;
  readonly #held = new Set<Held>();
  #unproved: string | null = null;

  constructor(clock: Clock) {
    this.#clock = clock;
  }

  /** Alone. @throws KeeperError `AF_BUSY` naming the holder */
  exclusive(holder: Holder): Release {
    return this.#take(holder, 'Exclusive');
  }

  /** Beside nothing that writes. @throws KeeperError `AF_BUSY` naming the holder */
  still(holder: Holder): Release {
    return this.#take(holder, 'Still');
  }

  /** The one command that may write. @throws KeeperError `AF_BUSY` naming the holder */
  writer(holder: Holder): Release {
    return this.#take(holder, 'Writer');
  }

  /** A change by the keeper, or a look at roots that must not change. @throws KeeperError `AF_BUSY` naming the holder */
  shared(holder: Holder): Release {
    return this.#take(holder, 'Shared');
  }

  /** Reading that no writer can lead astray. @throws KeeperError `AF_BUSY` naming the holder */
  reading(holder: Holder): Release {
    return this.#take(holder, 'Reading');
  }

  /**
   * Lets in nothing but reading that withstands a writer, because processes of the user may live that nobody holds the gate
   * for; null opens it again. Never refused: it only says what is so.
   *
   * @param why what is not known, as refusals (`AF_TOOLS_UNAVAILABLE`) repeat it
   */
  shut(why: string | null): void {
    this.#unproved = why;
  }

  #take(holder: Holder, mode: Mode): Release {
    if (this.#unproved !== null && mode !== 'Reading') throw new KeeperError('AF_TOOLS_UNAVAILABLE', this.#unproved);
    for (const other of this.#held) {
      if (!refuses[mode].includes(other.mode)) continue;
      const { kind, name } = other.holder;
      throw new KeeperError('AF_BUSY', `${`${kind} ${name}`.trim()} runs since ${other.since}`);
    }
    const held = { holder, mode, since: timestamp(this.#clock) };
    this.#held.add(held);
    return () => void this.#held.delete(held);
  }
}
