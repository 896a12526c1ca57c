import { Type, type Static } from 'typebox';
import { energyHeads, Features, featureSet } from './features.ts';
import { ItemId, RequestId, type Answered } from './wire.ts';

export const scoreBounds = { maxItems: 64, maxTextChars: 16_384 } as const;

/** One act to be judged: its text (changed lines with those around them, or the command) and its features. */
export const ScoreItem = Type.Object(
  {
    id: ItemId,
    head: Type.Enum([...energyHeads]),
    text: Type.String({ maxLength: scoreBounds.maxTextChars }),
    /** `arithmetic`, `replaceName` …: the kind of edit, or the program of a command. */
    operator: Type.String({ maxLength: 128 }),
    features: Features,
  },
  { additionalProperties: false },
);
export type ScoreItem = Static<typeof ScoreItem>;

/** Body of `POST /v1/score`. Equal bodies get equal answers, whatever else is in a batch. */
export const ScoreRequest = Type.Object(
  {
    requestId: RequestId,
    featureSet: Type.Literal(featureSet),
    items: Type.Array(ScoreItem, { minItems: 1, maxItems: scoreBounds.maxItems }),
  },
  { additionalProperties: false },
);
export type ScoreRequest = Static<typeof ScoreRequest>;

/** E(x) = model + features; lower is better. */
export interface EnergyScore {
  readonly id: string;
  readonly energy: number;
  /** E_model(x): from the text and what is known before the act. */
  readonly model: number;
  /** λᵀf(x): from what was measured when it ran; 0 before. */
  readonly features: number;
  /** Calibrated probability that the act is good; null without a calibration. */
  readonly pSuccess: number | null;
}

/** Answer of `POST /v1/score`; scores stand in the order of the request. */
export interface ScoreResponse extends Answered {
  readonly scores: readonly EnergyScore[];
  /** Features known before the act that change these energies; to measure another one would change nothing. */
  readonly reads: readonly (keyof Features)[];
  /** `sha256:` of the calibration that made the probabilities, as `/v1/info` tells it; null or absent: there is none. */
  readonly calibration?: string | null;
}
