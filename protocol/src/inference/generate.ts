// protocol, inference: request and candidates of `POST /v1/generate`. May import environment alone.
import { Type, type Static } from 'typebox';
import { generatingRoles, type EngineType, RequestId } from './errors.ts';
import { Spectrum } from './spectrum.ts';
import { closed } from '../object.ts';

export const generateBounds = {
  maxCandidates: 64,
  maxFiles: 32,
  maxFileChars: 1024 * 1024,
  maxExcluded: 10_000,
  maxBudgetMillis: 60_000,
  defaultBudgetMillis: 10_000,
} as const;

const count = Type.Integer({ minimum: 0 });
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
export const Candidate = Type.Object({
  /** `sha256:` over the canonical edits, and the acts where there are any; equal ones have equal ids. */
  id: digest,
  /** From 1 in this answer; the best first. */
  rank: Type.Integer({ minimum: 1 }),
  /** Share of the whole pool's mass: all candidates of the pool, tried ones included, sum to 1. */
  score: Type.Number({ minimum: 0, maximum: 1 }),
  /** −ln of the unnormalised score, nats; lower is better. Absent for engines that have none. */
  energy: Type.Optional(Type.Number()),
  /** Empty for a candidate that only acts. */
  edits: Type.Immutable(Type.Array(Edit, { maxItems: 64 })),
  /** Only with grammar Tool; run one after the other, each of which must end with 0. */
  acts: Type.Optional(Type.Immutable(Type.Array(ShellAct, { minItems: 1, maxItems: 16 }))),
  operator: Type.String({ minLength: 1, maxLength: 256 }),
  /** One sentence for people. */
  rationale: Type.String({ maxLength: 4096 }),
  /** A place in a file. Lines and columns count from 1 and 0. */
  location: Type.Object({ path: Type.String({ maxLength: 1024 }), line: Type.Integer({ minimum: 1 }), column: count }),
});
export type Candidate = Static<typeof Candidate>;

/** Answer of `POST /v1/generate`. */
export const GenerateResponse = Type.Object({
  requestId: Type.String(),
  engine: Type.Unsafe<EngineType>(Type.String({ maxLength: 256 })),
  /** `sha256:` of the engine's code and weights. */
  modelDigest: Type.String({ maxLength: 256 }),
  candidates: Type.Immutable(Type.Array(Candidate, { maxItems: generateBounds.maxCandidates })),
  /** Sum of the scores above; 1 − returnedMass belongs to what was tried or is still to come. It may miss 1 by rounding. */
  returnedMass: Type.Number({ minimum: 0, maximum: 1 + 1e-6 }),
  /** True when no candidate is left after these; never of a search that the budget ended. */
  exhausted: Type.Boolean(),
  /** True when the budget or a bound of the engine ended the search: what it left out is unlikely, not impossible. */
  truncated: Type.Boolean(),
  /** Shannon entropy of the scores of the candidates that were not excluded, renormalised; nats. */
  entropyNats: Type.Number({ minimum: 0 }),
  /** Energy of the second minus energy of the first candidate, nats, ≥ 0; null for fewer than two. */
  margin: Type.Union([Type.Number({ minimum: -1e-9 }), Type.Null()]),
  /** Files that were parsed; candidates in the pool, tried ones included; wall time of the search, milliseconds. */
  stats: Type.Object({ parsed: count, considered: count, millis: Type.Number({ minimum: 0 }) }),
});
export type GenerateResponse = Static<typeof GenerateResponse>;
