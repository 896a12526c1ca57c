import type { Spectrum } from '@agentfleet/protocol/inference';

/**
 * How suspicious a line is, 0…1, by the spectrum of failing and passing tests: Ochiai, failed ⁄ √(allFailed · executed)
 * (R. Abreu et al., TAIC PART 2007). Null for lines that no test executed, and where nothing was measured.
 */
export function suspicionOf({ failed, lines }: Spectrum): (path: string, line: number) => number | null {
  const counts = new Map(lines.map((one) => [`${one.line}:${one.path}`, one]));
  return (path, line) => {
    const count = counts.get(`${line}:${path}`);
    if (count === undefined || failed === 0) return null;
    const executed = count.passed + count.failed;
    return executed === 0 ? 0 : Math.min(1, count.failed / Math.sqrt(failed * executed));
  };
}
