import { Type, type Static } from 'typebox';
import { Edit, FocusFile } from './generate.ts';
import { ItemId, RequestId, type Answered } from './wire.ts';

export const priorBounds = {
  maxCandidates: 64,
  maxFiles: 32,
  maxWindowTokens: 64,
  defaultWindowTokens: 16,
  maxBudgetMillis: 60_000,
} as const;

/** Body of `POST /v1/prior`: how likely a language model finds each candidate's text, against the text that is there. */
export const PriorRequest = Type.Object(
  {
    requestId: RequestId,
    files: Type.Array(FocusFile, { minItems: 1, maxItems: priorBounds.maxFiles }),
    candidates: Type.Array(
      Type.Object({ id: ItemId, edits: Type.Array(Edit, { minItems: 1, maxItems: 64 }) }, { additionalProperties: false }),
      {
        minItems: 1,
        maxItems: priorBounds.maxCandidates,
        description: 'the most promising first: the budget may end the work',
      },
    ),
    windowTokens: Type.Integer({
      minimum: 1,
      maximum: priorBounds.maxWindowTokens,
      default: priorBounds.defaultWindowTokens,
      description: 'tokens from the first one that differs',
    }),
    budgetMillis: Type.Integer({ minimum: 1, maximum: priorBounds.maxBudgetMillis, default: 5000 }),
  },
  { additionalProperties: false },
);
export type PriorRequest = Static<typeof PriorRequest>;

/** Likelihood of one candidate. */
export interface PriorScore {
  readonly id: string;
  /** ln p(text after) − ln p(text before) over the window, nats; higher is likelier. Null: not measured. */
  readonly gainNats: number | null;
}

/** Answer of `POST /v1/prior`; scores stand in the order of the request. */
export interface PriorResponse extends Answered {
  readonly scores: readonly PriorScore[];
  /** True when the budget ended the work. */
  readonly truncated: boolean;
  readonly tokens: number;
  readonly millis: number;
}
