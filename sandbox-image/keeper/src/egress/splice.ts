import type { Duplex } from 'node:stream';
import type { Clock } from '../clock.ts';

export interface Spliced {
  /** Bytes from a to b, and back. */
  readonly forth: number;
  readonly back: number;
  /** `Ended`: both directions did. `Cut`: one side went away. `Idle`: nothing moved for too long. */
  readonly why: 'Ended' | 'Cut' | 'Idle';
}

/**
 * Joins two connections byte for byte until both directions have ended; the end of one direction is handed on and leaves
 * the other open. Never rejects, leaves both destroyed.
 */
export function splice(a: Duplex, b: Duplex, { clock, idleMs }: { readonly clock: Clock; readonly idleMs: number }): Promise<Spliced> {
  const { promise, resolve } = Promise.withResolvers<Spliced>();
  const moved = { forth: 0, back: 0 };
  const state = { last: clock.now(), open: 2, cancel: (): void => undefined };
  const finish = (why: Spliced['why']): void => {
    state.cancel();
    a.destroy();
    b.destroy();
    resolve({ ...moved, why });
  };
  const watch = (): void => {
    const left = state.last + idleMs - clock.now();
    if (left <= 0) finish('Idle');
    else state.cancel = clock.after(left, watch);
  };
  const flow = (from: Duplex, to: Duplex, way: keyof typeof moved): void => {
    from.on('data', (chunk: Buffer) => {
      moved[way] += chunk.length;
      state.last = clock.now();
    });
    from.once('end', () => {
      state.open -= 1;
      if (state.open === 0) to.end(() => finish('Ended'));
    });
    from.once('close', () => {
      if (!from.readableEnded) finish('Cut');
      // Gone after its last byte: that is still handed on, but nothing can come back.
      else if (state.open > 0) to.end(() => finish('Cut'));
    });
    from.pipe(to);
  };
  flow(a, b, 'forth');
  flow(b, a, 'back');
  watch();
  return promise;
}
