// protocol, inference: line coverage of tests and its counts by line. May import environment alone.
import { Type, type Static } from 'typebox';
import { closed } from '../object.ts';

/**
 * Coverage of one test run, as a part of a request to a search expert. Collected by the worker inside the sandbox: each test id
 * is run under a line tracer and reports the lines that were executed at least once, by workspace path.
 */
export const CoverageRun = closed({
  test: Type.String({ minLength: 1, maxLength: 512, description: 'id of the test as its runner prints it' }),
  outcome: Type.Enum(['Passed', 'Failed'], { description: 'an error or a time-out is Failed; skipped tests are left out' }),
  covered: Type.Array(
    closed({
      path: Type.String({ minLength: 1, maxLength: 1024, description: 'relative to the workspace, with /' }),
      lines: Type.Array(Type.Integer({ minimum: 1 }), { maxItems: 100_000, description: 'counted from 1; duplicates count once' }),
    }),
    { maxItems: 4096 },
  ),
});
export type CoverageRun = Static<typeof CoverageRun>;

/** Counts of one line: how many passing and how many failing tests executed it. */
export const SpectrumLine = closed({
  path: Type.String({ minLength: 1, maxLength: 1024 }),
  line: Type.Integer({ minimum: 1 }),
  passed: Type.Integer({ minimum: 0 }),
  failed: Type.Integer({ minimum: 0 }),
});
export type SpectrumLine = Static<typeof SpectrumLine>;

/** The program spectrum: totals, and the lines that any test executed. */
export const Spectrum = closed({
  passed: Type.Integer({ minimum: 0, description: 'passing tests in all' }),
  failed: Type.Integer({ minimum: 0, description: 'failing tests in all' }),
  lines: Type.Array(SpectrumLine, { maxItems: 200_000 }),
});
export type Spectrum = Static<typeof Spectrum>;

/**
 * Sums coverage runs to a spectrum; lines are ordered by path, then line. A line that one run names
 * twice counts once.
 *
 * @example
 * spectrumFromRuns([{ test: 't', outcome: 'Failed', covered: [{ path: 'a.py', lines: [1, 2] }] }]);
 * // { passed: 0, failed: 1, lines: [{ path: 'a.py', line: 1, passed: 0, failed: 1 }, …] }
 */
export function spectrumFromRuns(runs: readonly CoverageRun[]): Spectrum {
  const files = new Map<string, Map<number, { passed: number; failed: number }>>();
  for (const { outcome, covered } of runs) {
    const seen = new Set<string>();
    for (const { path, lines } of covered) {
      const counts = files.get(path) ?? new Map<number, { passed: number; failed: number }>();
      files.set(path, counts);
      for (const line of lines) {
        const key = `${line}:${path}`;
        if (seen.has(key)) continue;
        seen.add(key);
        const count = counts.get(line) ?? { passed: 0, failed: 0 };
        counts.set(line, count);
        count[outcome === 'Passed' ? 'passed' : 'failed'] += 1;
      }
    }
  }
  const lines = [...files].flatMap(([path, counts]) => [...counts].map(([line, count]) => ({ path, line, ...count })));
  lines.sort((a, b) => (a.path === b.path ? a.line - b.line : a.path < b.path ? -1 : 1));
  const failed = runs.filter((run) => run.outcome === 'Failed').length;
  return { passed: runs.length - failed, failed, lines };
}
