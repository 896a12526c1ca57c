import type { Clock } from './clock.ts';

/** Work between two yields to the event loop, ms: long work must not delay timers and renewals. */
const sliceMs = 8;

/** Cuts long work into slices. */
export interface Slices {
  /** True when the slice is over. */
  due(): boolean;
  /** Lets others run and begins a new slice. */
  yield(): Promise<void>;
}

/** The first slice begins now. */
export function slices(clock: Clock): Slices {
  let begin = clock.monotonic();
  return {
    due: () => clock.monotonic() - begin >= sliceMs,
    yield: async () => {
      await new Promise((resolve) => setImmediate(resolve));
      begin = clock.monotonic();
    },
  };
}
