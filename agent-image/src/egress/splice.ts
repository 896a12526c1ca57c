import type { Duplex } from 'node:stream';
import type { Clock, Timer } from '@agentfleet/kube';

export interface Spliced {
  /** Bytes from a to b, and back. */
  readonly forth: number;
  readonly back: number;
}

/**
 * Joins two connections byte for byte until both directions have ended; the end of one direction is handed on and leaves
 * the other open. Ends with either's failure, or when nothing moved for `idleMs`. Never rejects, leaves both destroyed.
 */
export function splice(a: Duplex, b: Duplex, { clock, idleMs }: { readonly clock: Clock; readonly idleMs: number }): Promise<Spliced> {
  const { promise, resolve } = Promise.withResolvers<Spliced>();
  const moved = { forth: 0, back: 0 };
  let last = clock.monotonic();
  let timer: Timer | undefined;
  let open = 2;
  const finish = (): void => {
    timer?.cancel();
    a.destroy();
    b.destroy();
    resolve(moved);
  };
  const watch = (): void => {
    const left = last + idleMs - clock.monotonic();
    if (left <= 0) finish();
    else timer = clock.after(left, watch);
  };
  const flow = (from: Duplex, to: Duplex, way: keyof typeof moved): void => {
    from.on('data', (chunk: Buffer) => {
      moved[way] += chunk.length;
      last = clock.monotonic();
    });
    from.once('end', () => {
      open -= 1;
      if (open === 0) to.end(finish);
    });
    from.once('error', finish);
    from.once('close', () => {
      if (!from.readableEnded) finish();
      // The peer closed after its last byte, which is still forwarded; nothing can be sent back.
      else if (open > 0) to.end(finish);
    });
    from.pipe(to);
  };
  flow(a, b, 'forth');
  flow(b, a, 'back');
  watch();
  return promise;
}
