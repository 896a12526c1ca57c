import type { CoverageRun } from '@agentfleet/protocol/inference';

type Covered = CoverageRun['covered'];

/** What the tracer's files say, merged by test. */
export interface Records {
  readonly runs: readonly CoverageRun[];
  /** Tests that the tracer left out because it had written enough. */
  readonly dropped: number;
  /** Lines that are no record of the tracer: torn by a crash, or written by a test. */
  readonly unreadable: number;
}

interface Merged {
  outcome: CoverageRun['outcome'] | null;
  readonly lines: Map<string, Set<number>>;
}

/** The records of {@link CoverageRun}'s bounds; a test can write into these files, so that nothing in them is believed. */
const bounds = { test: 512, path: 1024, files: 4096, lines: 100_000 } as const;

/**
 * Reads the tracer's files, in any order: the result is ordered by test, path and line. A test that ran twice, or in
 * several processes, is one run with the lines of all; it failed when it failed once.
 */
export function readRecords(texts: readonly string[]): Records {
  const tests = new Map<string, Merged>();
  let [dropped, unreadable] = [0, 0];
  for (const text of texts) {
    for (const line of text.split('\n')) {
      if (line === '') continue;
      const record = parse(line);
      if (record === null) unreadable += 1;
      else if ('dropped' in record) dropped += 1;
      else merge(tests, record);
    }
  }
  const runs = [...tests].flatMap(([test, { outcome, lines }]): CoverageRun[] =>
    outcome === null ? [] : [{ test, outcome, covered: sorted(lines) }],
  );
  return { runs: runs.sort((a, b) => (a.test < b.test ? -1 : 1)), dropped, unreadable };
}

interface TestRecord {
  readonly test: string;
  readonly outcome: CoverageRun['outcome'] | null;
  readonly covered: Covered;
}

function parse(line: string): TestRecord | { readonly dropped: true } | null {
  let value: unknown;
  try {
    value = JSON.parse(line);
  } catch {
    return null;
  }
  if (typeof value !== 'object' || value === null) return null;
  if ('dropped' in value) return { dropped: true };
  const { test, outcome, part, covered } = value as Record<string, unknown>;
  if (typeof test !== 'string' || test === '' || test.length > bounds.test || !Array.isArray(covered)) return null;
  if (!(covered.length <= bounds.files && covered.every(isCovered))) return null;
  if (part === true) return { test, outcome: null, covered };
  return outcome === 'Passed' || outcome === 'Failed' ? { test, outcome, covered } : null;
}

function isCovered(value: unknown): value is Covered[number] {
  if (typeof value !== 'object' || value === null) return false;
  const { path, lines } = value as Record<string, unknown>;
  if (typeof path !== 'string' || path === '' || path.length > bounds.path) return false;
  if (path.split('/').some((part) => part === '' || part === '.' || part === '..')) return false;
  if (!Array.isArray(lines) || lines.length > bounds.lines) return false;
  return lines.every((line) => Number.isSafeInteger(line) && Number(line) > 0);
}

function merge(tests: Map<string, Merged>, { test, outcome, covered }: TestRecord): void {
  const known = tests.get(test) ?? { outcome: null, lines: new Map<string, Set<number>>() };
  tests.set(test, known);
  if (outcome !== null && known.outcome !== 'Failed') known.outcome = outcome;
  for (const { path, lines } of covered) {
    const numbers = known.lines.get(path) ?? new Set<number>();
    known.lines.set(path, numbers);
    for (const line of lines) numbers.add(line);
  }
}

function sorted(lines: ReadonlyMap<string, ReadonlySet<number>>): Covered {
  return [...lines]
    .map(([path, numbers]) => ({ path, lines: [...numbers].sort((a, b) => a - b).slice(0, bounds.lines) }))
    .sort((a, b) => (a.path < b.path ? -1 : 1))
    .slice(0, bounds.files);
}

/** Keeps what fits into `bytes` of JSON: failing tests first, then passing ones, each in order. */
export function fitting(runs: readonly CoverageRun[], bytes: number): { readonly kept: readonly CoverageRun[]; readonly left: number } {
  const kept = new Set<CoverageRun>();
  let room = bytes;
  for (const wanted of ['Failed', 'Passed'] as const) {
    for (const run of runs) {
      if (run.outcome !== wanted) continue;
      const size = JSON.stringify(run).length + 1;
      if (size > room) continue;
      room -= size;
      kept.add(run);
    }
  }
  return { kept: runs.filter((run) => kept.has(run)), left: runs.length - kept.size };
}
