import type { Spectrum } from '@agentfleet/protocol/inference';

/** How suspicious a line is: `ochiai` 0…1, `dstar` ≥ 0 (may be Infinity) to break ties. */
export interface Suspicion {
  readonly ochiai: number;
  readonly dstar: number;
}

/** Suspicion of a line by the counts of the tests that executed it. */
export interface LineSuspicion {
  /** Lines that no test counted: null. */
  at(path: string, line: number): Suspicion | null;
  /** Of code that every test runs, such as the module's own statements. */
  readonly everywhere: Suspicion;
  /** False when the request told of no failing test's coverage. */
  readonly known: boolean;
}

/**
 * Ochiai: ef / √((ef + nf)(ef + ep)). R. Abreu, P. Zoeteweij, A. van Gemund, "On the Accuracy of
 * Spectrum-based Fault Localization", TAICPART-MUTATION 2007.
 *
 * @param failed failing tests that executed the line (ef)
 * @param passed passing tests that executed it (ep)
 * @param totalFailed all failing tests (ef + nf)
 */
export function ochiai(failed: number, passed: number, totalFailed: number): number {
  const divisor = Math.sqrt(totalFailed * (failed + passed));
  return divisor === 0 ? 0 : failed / divisor;
}

/**
 * DStar with exponent 2: ef² / (ep + nf). W. E. Wong, V. Debroy, R. Gao, Y. Li, "The DStar Method
 * for Effective Software Fault Localization", IEEE Transactions on Reliability 63(1), 2014.
 */
export function dstar(failed: number, passed: number, totalFailed: number): number {
  if (failed === 0) return 0;
  const divisor = passed + (totalFailed - failed);
  return divisor === 0 ? Infinity : failed ** 2 / divisor;
}

export function suspicionOf(spectrum: Spectrum): LineSuspicion {
  const files = new Map<string, Map<number, Suspicion>>();
  for (const { path, line, passed, failed } of spectrum.lines) {
    const lines = files.get(path) ?? new Map<number, Suspicion>();
    files.set(path, lines);
    lines.set(line, { ochiai: ochiai(failed, passed, spectrum.failed), dstar: dstar(failed, passed, spectrum.failed) });
  }
  return {
    at: (path, line) => files.get(path)?.get(line) ?? null,
    everywhere: {
      ochiai: ochiai(spectrum.failed, spectrum.passed, spectrum.failed),
      dstar: dstar(spectrum.failed, spectrum.passed, spectrum.failed),
    },
    known: spectrum.failed > 0 && spectrum.lines.some((line) => line.failed > 0),
  };
}
