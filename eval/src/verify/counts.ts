/** How many tests ran and failed, where the output of a runner says so. */
export interface Counts {
  readonly tests: number;
  readonly failed: number;
}

/** Counts of unittest or node:test; undefined for any other output. */
export function readCounts(output: string): Counts | undefined {
  const ran = /^Ran (\d+) tests? in /m.exec(output)?.[1];
  if (ran !== undefined) {
    const faults = [...(/^FAILED \((.*)\)$/m.exec(output)?.[1] ?? '').matchAll(/(?:failures|errors)=(\d+)/g)];
    return { tests: Number(ran), failed: faults.reduce((sum, [, count]) => sum + Number(count), 0) };
  }
  const said = (word: string): string | undefined => new RegExp(`^[#ℹ] ${word} (\\d+)$`, 'm').exec(output)?.[1];
  const tests = said('tests');
  return tests === undefined ? undefined : { tests: Number(tests), failed: Number(said('fail') ?? 0) + Number(said('cancelled') ?? 0) };
}
