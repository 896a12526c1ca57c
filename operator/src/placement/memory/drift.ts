/** An estimate that misses the measured memory by more than this share is reported as `EstimateDrift`. */
export const driftTolerance = 0.15;

/** An estimate beside what the running engine takes. Bytes; the ratio is a decimal string, as floats do not go into status. */
export interface MemoryFeedback {
  readonly estimated: number;
  readonly measured: number;
  /** (measured − estimated) / measured, with three decimals. */
  readonly errorRatio: string;
  readonly drifted: boolean;
}

/** Compares an estimate with a measurement. Undefined when nothing was measured. */
export function compareMemory(estimated: number, measured: number | undefined): MemoryFeedback | undefined {
  if (measured === undefined || !Number.isFinite(measured) || measured <= 0) return undefined;
  const error = (measured - estimated) / measured;
  return { estimated, measured, errorRatio: error.toFixed(3), drifted: Math.abs(error) > driftTolerance };
}
