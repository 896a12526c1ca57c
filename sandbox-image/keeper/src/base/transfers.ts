// sandbox-image/keeper, base: network transfers that hold the gate, cut off by epoch. May import protocol alone.
import type { Release } from './gate.ts';

/** A body on its way. */
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
