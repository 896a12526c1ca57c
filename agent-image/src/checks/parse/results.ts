// agent-image, checks/parse: types of parsed test results, which all formats share. Imports no other folder of the worker.

/** Outcome of one test. `Errored`: it could not be run to its end (set-up, collection, build, crash). */
export type Outcome = 'Passed' | 'Failed' | 'Skipped' | 'Errored';

/** Formats that are read by the line that counts tests. */
export const summedFormats = ['Vitest', 'Jest', 'Mocha', 'RSpec', 'Minitest', 'TestUnit', 'PHPUnit', 'Maven', 'Catch2', 'Doctest'] as const;
export type SummedFormat = (typeof summedFormats)[number];

/** Formats with a line for each test and a sum. */
export const pointFormats = ['CTest', 'Meson', 'GoogleTest'] as const;
export type PointFormat = (typeof pointFormats)[number];

/** Formats of a check's results. Those from `Unittest` (Python's own text) on are never requested: `Auto` finds them. */
export const resultFormats = [
  'Exit',
  'JUnit',
  'TAP',
  'Pytest',
  'NodeTest',
  'GoTest',
  'Unittest',
  'CargoTest',
  ...pointFormats,
  ...summedFormats,
] as const;
export type ResultFormat = (typeof resultFormats)[number];

export interface TestResult {
  /** As the runner prints it; a repeated id gets ` (2)`, ` (3)`, failing ones first. At most 1024 characters. */
  readonly id: string;
  readonly outcome: Outcome;
  /**
   * `Group`: holds other tests of the list (a suite, a test with subtests).
   * `Location`: the runner named a place instead of a test (pytest's folded skips).
   * `Container`: a file, class or package that could not be loaded; it hides tests.
   */
  readonly kind: 'Test' | 'Group' | 'Location' | 'Container';
  /** At most 2000 characters. */
  readonly message?: string;
  readonly seconds?: number;
}

export type Counts = Readonly<Record<'passed' | 'failed' | 'skipped' | 'errored', number>>;

/** Something about the output that a reader must know. `Distrust`: it proves nothing. */
export interface Problem {
  readonly code: ProblemCode;
  readonly severity: 'Note' | 'Distrust';
  /** Fault and place. */
  readonly message: string;
  readonly cure: string;
}

export type ProblemCode =
  | 'Incomplete'
  | 'CountsDisagree'
  | 'ExitDisagrees'
  | 'ExitHidesFailure'
  | 'SourcesDisagree'
  | 'TwoSummaries'
  | 'ConflictingResult'
  | 'DuplicateId'
  | 'NoTests'
  | 'BailedOut'
  | 'Malformed'
  | 'TooLarge'
  | 'NamesMissing'
  | 'RunnerMissing';

/** Results of a run of a check's command, with their trustworthiness. */
export interface ParsedResults {
  readonly format: ResultFormat;
  /** Files that the runner wrote, or its printed output. */
  readonly source: 'Files' | 'Output';
  /**
   * Extent of the known results. `Tests`: each test has an id. `Counts`: only failing tests are named, the others are in `unnamed`.
   * `Exit`: only the exit code, or whole packages.
   */
  readonly evidence: 'Tests' | 'Counts' | 'Exit';
  readonly tests: readonly TestResult[];
  readonly unnamed: Counts;
  /** With `Counts`: how many tests each file or class has, 1 where it is only named. Absent: the runner does not show it. */
  readonly files?: ReadonlyMap<string, number>;
  /** False when the output ends before its runner's last words. Then the counts may be short. */
  readonly complete: boolean;
  /** The runner reports that it ended before its last test: more tests may exist. */
  readonly stopped: boolean;
  readonly problems: readonly Problem[];
}

/** Input of a parser: the output of the command. */
export interface CommandOutput {
  /** Null when a signal or a time-out ended it. */
  readonly exitCode: number | null;
  readonly stdout: string;
  readonly stderr: string;
  /** Report files written by this very run: remove `reportFiles(command)` before it. */
  readonly files?: readonly { readonly path: string; readonly bytes: Uint8Array }[];
  /** True when some of the output was dropped on its way. */
  readonly truncated?: boolean;
}

/** Id of the command as a whole: it passes with exit code 0. */
export const wholeRun = '(run)';

export const noCounts: Counts = { passed: 0, failed: 0, skipped: 0, errored: 0 };

export const failing = (outcome: Outcome): boolean => outcome === 'Failed' || outcome === 'Errored';

/** Sums named and unnamed tests, for the status. Groups are not tests, and an unloadable file counts as one. */
export function countTests(results: Pick<ParsedResults, 'tests' | 'unnamed'>): Counts {
  const sum = { ...results.unnamed };
  for (const { kind, outcome } of results.tests) if (kind !== 'Group') sum[counter[outcome]] += 1;
  return sum;
}

const counter = { Passed: 'passed', Failed: 'failed', Skipped: 'skipped', Errored: 'errored' } as const;

/** Reports whether the results may be used as proof: complete, and without a reason for distrust. */
export function trusted(results: ParsedResults): boolean {
  return results.complete && results.problems.every((problem) => problem.severity === 'Note');
}

/**
 * Variables that make runners name every test instead of counting the passing ones, so that a check like `pytest -q` can be
 * compared test by test.
 *
 * pytest reads PYTEST_ADDOPTS (docs.pytest.org, "Configuration"), go test GOFLAGS (`go help environment`). `-json` is
 * not for GOFLAGS: with it `go vet` always succeeds.
 */
export const namingEnvironment = { PYTEST_ADDOPTS: '-rA', GOFLAGS: '-v' } as const;
