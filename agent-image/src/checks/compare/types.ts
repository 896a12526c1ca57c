import type { ExecEnd } from '@agentfleet/protocol/keeper';
import type { Check } from '@agentfleet/protocol/api';
import type { ParsedResults, ProblemCode, ResultFormat } from '../parse/results.ts';

/** End of a command: the keeper's facts that decide whose fault it is. */
export type RunEnd = Pick<ExecEnd, 'exitCode' | 'signal' | 'timedOut' | 'killed' | 'oom' | 'error' | 'interrupted'>;

/** One run of one check. */
export interface CheckRun {
  /** The check's name. */
  readonly check: string;
  readonly end: RunEnd;
  readonly results: ParsedResults;
}

/** The failure classes of an AgentTask that checks can give. */
export type CheckClass = 'CheckFailed' | 'InvalidInput' | 'Infrastructure';

export type ReasonCode =
  | ProblemCode
  | 'NoBaseline'
  | 'NotRunnable'
  | 'Interrupted'
  | 'TimedOut'
  | 'OutOfMemory'
  | 'Killed'
  | 'AlreadyPasses'
  | 'OnlyFlaky'
  | 'FormatChanged'
  | 'EvidenceChanged'
  | 'Missing'
  | 'NewlySkipped'
  | 'Regressed'
  | 'StillFails'
  | 'NothingFixed';

export interface Reason {
  readonly code: ReasonCode;
  readonly check: string;
  /** Test id, where it is about one test. */
  readonly test?: string;
  /** Fault and place. */
  readonly message: string;
  readonly cure: string;
}

export interface BaselineJudgement {
  readonly accepted: boolean;
  /** Null when accepted. */
  readonly class: CheckClass | null;
  /** The resolved value of `Auto`. */
  readonly expect: Exclude<Check['expect'], 'Auto'>;
  /** Parse the results of attempts with it. */
  readonly format: ResultFormat;
  /** None with `NoRegression`: they may fail at the end, too. */
  readonly failing: readonly string[];
  readonly flaky: readonly string[];
  readonly reasons: readonly Reason[];
}

/** Result of comparing the run after an attempt with the baseline, test by test. Lists hold test ids, sorted. */
export interface Verdict {
  readonly proved: boolean;
  /** Null when proved. */
  readonly class: CheckClass | null;
  readonly reasons: readonly Reason[];
  readonly evidence: ParsedResults['evidence'];
  readonly newlyPassing: readonly string[];
  readonly stillFailing: readonly string[];
  readonly missing: readonly string[];
  readonly newlySkipped: readonly string[];
  readonly regressed: readonly string[];
  readonly added: readonly string[];
  /** Differ between baseline runs: neither proof nor regression. */
  readonly flaky: readonly string[];
}
