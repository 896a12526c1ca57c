// sandbox-image/keeper, base: lock with modes for access to the sandbox's roots, and the network transfers that hold it. May import protocol alone.
import { type Clock, timestamp } from './clock.ts';
import { KeeperError } from './failure.ts';

/** Holder of the gate, as refusals show it. */
export interface Holder {
  /** `command`, `reading command`, `snapshot`, `restore`, `tools restart`, `file transfer`, `diff`. */
  readonly kind: string;
  readonly name: string;
}

/** Gives the gate back; calling it twice is harmless. */
export type Release = () => void;

type Mode = 'Exclusive' | 'Still' | 'Writer' | 'Shared' | 'Reading';

/** For each mode, the modes that it excludes. */
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
 * Serializes access to the roots. Snapshots and restores exclude writers; where files are in layers that get unmounted,
 * they exclude everything. One command writes; commands that the kernel limits to reading, and keeper reads that
 * tolerate a writer, run beside it. Writes of the keeper itself share the roots with readers, not with a command, so
 * that no process of the user can race a path check. The gate never waits: a second caller gets `AF_BUSY` with the
 * holder.
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

  /** A change by the keeper, or a read of roots that must not change. @throws KeeperError `AF_BUSY` naming the holder */
  shared(holder: Holder): Release {
    return this.#take(holder, 'Shared');
  }

  /** A read that no concurrent writer can mislead. @throws KeeperError `AF_BUSY` naming the holder */
  reading(holder: Holder): Release {
    return this.#take(holder, 'Reading');
  }

  /**
   * Admits only reads that tolerate a writer, because processes of the user may live for which no holder is registered;
   * null opens the gate again. Never refused: it records a fact.
   *
   * @param why the reason, as refusals (`AF_TOOLS_UNAVAILABLE`) repeat it
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

interface Transfer {
  readonly epoch: number;
  readonly cut: () => void;
  readonly ended: Promise<void>;
}

/** Bodies that hold the gate for as long as a caller on the network sends or reads them. */
export class Transfers {
  readonly #open = new Set<Transfer>();
  /** Callers of lower epochs are cut off. */
  #epoch = 0;

  /** Counts in a holder of the gate. `cut` disconnects its caller. Returns what gives the gate back in place of `release`. */
  begin(epoch: number, release: Release, cut: () => void): Release {
    const { promise: ended, resolve } = Promise.withResolvers<void>();
    const transfer = { epoch, cut, ended };
    this.#open.add(transfer);
    // It waited for the disk while its epoch ended.
    if (epoch < this.#epoch) cut();
    return () => {
      release();
      this.#open.delete(transfer);
      resolve();
    };
  }

  /** Cuts off callers of older assignments, and waits until the gate is free of them. */
  async supersede(epoch: number): Promise<void> {
    this.#epoch = epoch;
    const older = [...this.#open].filter((transfer) => transfer.epoch < epoch);
    for (const { cut } of older) cut();
    await Promise.all(older.map(({ ended }) => ended));
  }
}
