/** What the loop was busy with since the last look, from `performance.eventLoopUtilization`: a share of 0 to 1. */
export type Utilization = () => number;

export interface LagSamplerOptions {
  readonly utilization: Utilization;
  /** Monotonic ms. */
  readonly now: () => number;
  /** Sets the next look. It must not keep the process alive. */
  readonly after: (ms: number, run: () => void) => void;
  /** Hears of each lag, ms. */
  readonly record: (lagMs: number) => void;
}

/** Time between two looks, ms. An event loop that rests has no lag, and each look wakes the process. */
export const lookMs = { busy: 100, resting: 1_000 } as const;

/** Share of its time from which on a loop is busy. */
const busyFrom = 0.02;

/** Looks how late the event loop is: ten times a second while there is work, once a second while there is none. */
export function sampleLag({ utilization, now, after, record }: LagSamplerOptions): void {
  const look = (wait: number): void => {
    const due = now() + wait;
    after(wait, () => {
      const lag = Math.max(0, now() - due);
      record(lag);
      // A loop that was late was busy, whatever its share says of the whole time.
      look(lag > lookMs.busy || utilization() >= busyFrom ? lookMs.busy : lookMs.resting);
    });
  };
  look(lookMs.busy);
}
