// protocol, inference: file format of recorded proposals for the engine `Replay`. May import environment alone.
import { Type, type Static } from 'typebox';
import { ShellAct } from './generate.ts';
import { closed } from '../object.ts';

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
