// protocol, inference: request and candidates of `POST /v1/generate`. May import environment and object alone.
import { Type, type Static } from 'typebox';
import { generatingRoles, type EngineType, RequestId } from './errors.ts';
import { closed } from '../object.ts';

export const generateBounds = {
  maxCandidates: 64,
  maxFiles: 32,
  maxFileChars: 1024 * 1024,
  maxExcluded: 10_000,
  maxBudgetMillis: 60_000,
  defaultBudgetMillis: 10_000,
} as const;

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

const digest = Type.String({ pattern: '^sha256:[0-9a-f]{64}$' });

/** A test that fails, in the words of its runner. The message steers the ranking. */
export const FailingTest = closed({
  id: Type.String({ minLength: 1, maxLength: 512 }),
  message: Type.String({ maxLength: 16_384 }),
  trace: Type.Optional(Type.String({ maxLength: 65_536 })),
});
export type FailingTest = Static<typeof FailingTest>;

/** A focus file: the only files that candidates may edit. */
export const FocusFile = closed({
  path: Type.String({
    minLength: 1,
    maxLength: 1024,
    pattern: '^(?!/)(?!.*(^|/)\\.\\.?(/|$))[^\\u0000]+$',
    description: 'relative to the workspace, with /, no . or ..',
  }),
  content: Type.String({ maxLength: generateBounds.maxFileChars }),
});
export type FocusFile = Static<typeof FocusFile>;

/** Hints on where to look: counts per line, and what fails. Both may be empty; the ranking is then weaker. */
export const Localisation = closed({ spectrum: Spectrum, failingTests: Type.Array(FailingTest, { maxItems: 256 }) });
export type Localisation = Static<typeof Localisation>;

/** Body of `POST /v1/generate`. Equal bodies get equal answers, as long as the budget suffices. */
export const GenerateRequest = closed({
  requestId: RequestId,
  role: Type.Enum([...generatingRoles]),
  goal: Type.String({ minLength: 1, maxLength: 4096 }),
  step: Type.Integer({
    minimum: 0,
    maximum: 100_000,
    default: 0,
    description: 'index of this proposal in the attempt; Replay looks it up',
  }),
  grammar: Type.Enum(['Edit', 'Tool'], {
    default: 'Edit',
    description: 'what a candidate may be. Edit: a set of text edits. Tool: commands after them as well',
  }),
  files: Type.Array(FocusFile, { maxItems: generateBounds.maxFiles, description: 'empty: there is nothing that may be edited' }),
  localisation: Localisation,
  k: Type.Integer({ minimum: 1, maximum: generateBounds.maxCandidates, description: 'candidates wanted' }),
  maxEdits: Type.Integer({ minimum: 1, maximum: 2, default: 1, description: '2 = pairs of edits follow when single edits are used up' }),
  exclude: Type.Array(digest, {
    maxItems: generateBounds.maxExcluded,
    default: [],
    description: 'ids of candidates that were already tried',
  }),
  seed: Type.Integer({ minimum: 0, maximum: 4_294_967_295, default: 0, description: 'orders candidates of equal score' }),
  budgetMillis: Type.Integer({
    minimum: 1,
    maximum: generateBounds.maxBudgetMillis,
    default: generateBounds.defaultBudgetMillis,
    description: 'time for the search; what is found by then is returned',
  }),
});
export type GenerateRequest = Static<typeof GenerateRequest>;

/** A place in a file. Lines and columns count from 1 and 0; bytes are of the UTF-8 text. */
export interface Location {
  readonly path: string;
  readonly line: number;
  readonly column: number;
}

/**
 * One replacement. Valid only for a file whose SHA-256 is `expectedSha256`; `before` must be what
 * the range holds. Edits of one candidate never overlap and all refer to the unedited file.
 */
export const Edit = closed({
  path: Type.String({ minLength: 1, maxLength: 1024 }),
  range: closed({ startByte: Type.Integer({ minimum: 0 }), endByte: Type.Integer({ minimum: 0 }) }),
  before: Type.String(),
  after: Type.String(),
  expectedSha256: Type.String({ pattern: '^[0-9a-f]{64}$' }),
});
export type Edit = Static<typeof Edit>;

/** A command that a candidate wants to be run in the workspace, after its edits. Gate 1 judges it before anything is done. */
export const ShellAct = closed({
  tool: Type.Literal('Shell'),
  command: Type.String({ minLength: 1, maxLength: 4096, description: 'one command line for /bin/sh -c' }),
});
export type ShellAct = Static<typeof ShellAct>;

/** One proposal. */
export interface Candidate {
  /** `sha256:` over the canonical edits, and the acts where there are any; equal ones have equal ids. */
  readonly id: string;
  /** From 1 in this answer; the best first. */
  readonly rank: number;
  /** Share of the whole pool's mass, 0…1: all candidates of the pool, tried ones included, sum to 1. */
  readonly score: number;
  /** −ln of the unnormalised score, nats; lower is better. Absent for engines that have none. */
  readonly energy?: number;
  /** Empty for a candidate that only acts. */
  readonly edits: readonly Edit[];
  /** Only with grammar Tool; run one after the other, each of which must end with 0. */
  readonly acts?: readonly ShellAct[];
  readonly operator: string;
  /** One sentence for people. */
  readonly rationale: string;
  readonly location: Location;
}

export interface GenerateStats {
  /** Files that were parsed. */
  readonly parsed: number;
  /** Candidates in the pool, tried ones included. */
  readonly considered: number;
  /** Wall time of the search, milliseconds. */
  readonly millis: number;
}

/** Answer of `POST /v1/generate`. */
export interface GenerateResponse {
  readonly requestId: string;
  readonly engine: EngineType;
  /** `sha256:` of the engine's code and weights. */
  readonly modelDigest: string;
  readonly candidates: readonly Candidate[];
  /** Sum of the scores above; 1 − returnedMass belongs to what was tried or is still to come. */
  readonly returnedMass: number;
  /** True when no candidate is left after these; never of a search that the budget ended. */
  readonly exhausted: boolean;
  /** True when the budget or a bound of the engine ended the search: what it left out is unlikely, not impossible. */
  readonly truncated: boolean;
  /** Shannon entropy of the scores of the candidates that were not excluded, renormalised; nats. */
  readonly entropyNats: number;
  /** Energy of the second minus energy of the first candidate, nats, ≥ 0; null for fewer than two. */
  readonly margin: number | null;
  readonly stats: GenerateStats;
}

/** One recorded replacement. Without `range`, `before` must occur exactly once in the focus file of that path. */
export const RecordedEdit = closed({
  path: Type.String({ minLength: 1, maxLength: 1024 }),
  before: Type.String(),
  after: Type.String(),
  range: Type.Optional(closed({ startByte: Type.Integer({ minimum: 0 }), endByte: Type.Integer({ minimum: 0 }) })),
  expectedSha256: Type.Optional(Type.String({ pattern: '^[0-9a-f]{64}$', description: 'given with range: the file that it counts in' })),
});
export type RecordedEdit = Static<typeof RecordedEdit>;

export const RecordedCandidate = closed({
  edits: Type.Array(RecordedEdit, { maxItems: 64 }),
  acts: Type.Array(ShellAct, { maxItems: 16, default: [], description: 'run after the edits; a candidate has at least one edit or act' }),
  weight: Type.Number({ exclusiveMinimum: 0, default: 1, description: 'relative to the others of its step' }),
  operator: Type.String({ minLength: 1, maxLength: 128, default: 'recorded' }),
  rationale: Type.String({ maxLength: 4096, default: '' }),
});
export type RecordedCandidate = Static<typeof RecordedCandidate>;

/** Proposals for one goal, step by step; the best candidate of a step first. */
export const ReplayRecord = closed({
  goal: Type.String({ minLength: 1, maxLength: 4096, description: 'the goal of the request, letter by letter' }),
  steps: Type.Array(Type.Array(RecordedCandidate, { maxItems: 64 }), { minItems: 1, maxItems: 10_000 }),
});
export type ReplayRecord = Static<typeof ReplayRecord>;

/** A file of recorded proposals: JSON, one such object per file. */
export const ReplayFile = closed({
  format: Type.Literal('agentfleet.dev/replay/v1'),
  records: Type.Array(ReplayRecord, { minItems: 1, maxItems: 10_000 }),
});
export type ReplayFile = Static<typeof ReplayFile>;
