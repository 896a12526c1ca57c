import { Type } from 'typebox';

/** Chosen by the caller; told back and logged. */
export const RequestId = Type.String({
  minLength: 1,
  maxLength: 128,
  pattern: '^[A-Za-z0-9._:-]+$',
  description: 'chosen by the caller; told back and logged',
});

/** Names one item of a batch in the answer. */
export const ItemId = Type.String({ minLength: 1, maxLength: 128 });

/** What every answer has. */
export interface Answered {
  readonly requestId: string;
  /** `sha256:` of the engine's code and weights. */
  readonly modelDigest: string;
}
