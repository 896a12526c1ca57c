// protocol, inference: requests and answers of `/v1/score`, `/v1/embed` and `/v1/judge`. May import environment alone.
import { Type, type Static } from 'typebox';
import { energyHeads, Features, featureSet } from './features.ts';
import { answered, ItemId, orNull, RequestId, share } from './errors.ts';
import { Edit, FocusFile } from './generate.ts';
import { closed } from '../object.ts';

/** As in the request. */
const id = Type.String({ maxLength: 128 });

export const scoreBounds = { maxItems: 64, maxTextChars: 16_384 } as const;

/** One act to be judged: its text (changed lines with those around them, or the command) and its features. */
export const ScoreItem = closed({
  id: ItemId,
  head: Type.Enum([...energyHeads]),
  text: Type.String({ maxLength: scoreBounds.maxTextChars }),
  /** `arithmetic`, `replaceName` …: the kind of edit, or the program of a command. */
  operator: Type.String({ maxLength: 128 }),
  features: Features,
});
export type ScoreItem = Static<typeof ScoreItem>;

/** Body of `POST /v1/score`. Equal bodies get equal answers, whatever else is in a batch. */
export const ScoreRequest = closed({
  requestId: RequestId,
  featureSet: Type.Literal(featureSet),
  items: Type.Array(ScoreItem, { minItems: 1, maxItems: scoreBounds.maxItems }),
});
export type ScoreRequest = Static<typeof ScoreRequest>;

/** E(x) = model + features; lower is better. */
export const EnergyScore = Type.Object({
  id,
  energy: Type.Number(),
  /** E_model(x): from the text and what is known before the act. */
  model: Type.Number(),
  /** λᵀf(x): from what was measured when it ran; 0 before. */
  features: Type.Number(),
  /** Calibrated probability that the act is good; null without a calibration. */
  pSuccess: orNull(share),
});
export type EnergyScore = Static<typeof EnergyScore>;

/** Answer of `POST /v1/score`; scores stand in the order of the request. */
export const ScoreResponse = Type.Object({
  ...answered,
  scores: Type.Immutable(Type.Array(EnergyScore, { maxItems: scoreBounds.maxItems })),
  /** Features known before the act that change these energies; to measure another one would change nothing. */
  reads: Type.Immutable(Type.Array(Type.Enum(Object.keys(Features.properties) as (keyof Features)[]), { uniqueItems: true })),
  /** `sha256:` of the calibration that made the probabilities, as in `/v1/info`; null or absent: there is none. */
  calibration: Type.Optional(orNull(Type.String({ maxLength: 128 }))),
});
export type ScoreResponse = Static<typeof ScoreResponse>;

export const embedBounds = { maxTexts: 64, maxTextChars: 8192 } as const;

/** Body of `POST /v1/embed`. */
export const EmbedRequest = closed({
  requestId: RequestId,
  texts: Type.Array(Type.String({ minLength: 1, maxLength: embedBounds.maxTextChars }), { minItems: 1, maxItems: embedBounds.maxTexts }),
});
export type EmbedRequest = Static<typeof EmbedRequest>;

/** Answer of `POST /v1/embed`; vectors have length 1 and stand in the order of the request. */
export const EmbedResponse = Type.Object({
  ...answered,
  dimensions: Type.Integer({ minimum: 1, maximum: 65_536 }),
  vectors: Type.Immutable(Type.Array(Type.Immutable(Type.Array(Type.Number())), { maxItems: embedBounds.maxTexts })),
});
export type EmbedResponse = Static<typeof EmbedResponse>;

export const judgeBounds = { maxActs: 64, maxTextChars: 65_536 } as const;

/** Classes of the policy classifier; all but `Benign` are unsafe. */
export const policyLabels = ['Benign', 'Destructive', 'Exfiltration', 'Escape', 'Persistence', 'Tampering'] as const;
export type PolicyLabel = (typeof policyLabels)[number];

/** One act: a command line, or the new text of a file. */
export const JudgedAct = closed({
  id: ItemId,
  tool: Type.Enum(['ExecCode', 'Shell', 'FileWrite']),
  /** The command as a shell would read it; for FileWrite the path. */
  subject: Type.String({ minLength: 1, maxLength: judgeBounds.maxTextChars }),
  /** The lines that FileWrite adds. */
  content: Type.Optional(Type.String({ maxLength: judgeBounds.maxTextChars })),
  /** Ids of the rails of gate 1 that found something. */
  rails: Type.Array(Type.String({ maxLength: 64 }), { maxItems: 64 }),
});
export type JudgedAct = Static<typeof JudgedAct>;

/** Body of `POST /v1/judge`. */
export const JudgeRequest = closed({ requestId: RequestId, acts: Type.Array(JudgedAct, { minItems: 1, maxItems: judgeBounds.maxActs }) });
export type JudgeRequest = Static<typeof JudgeRequest>;

export const PolicyVerdict = Type.Object({
  id,
  /** The likeliest class. */
  label: Type.Enum([...policyLabels]),
  /** Probability that the act is unsafe: 1 − P(Benign). */
  unsafe: share,
  /** The rule that decided alone; null: the classifier did. */
  rule: orNull(Type.String({ minLength: 1 })),
});
export type PolicyVerdict = Static<typeof PolicyVerdict>;

/** Answer of `POST /v1/judge`; verdicts stand in the order of the request. */
export const JudgeResponse = Type.Object({
  ...answered,
  verdicts: Type.Immutable(Type.Array(PolicyVerdict, { maxItems: judgeBounds.maxActs })),
});
export type JudgeResponse = Static<typeof JudgeResponse>;

export const priorBounds = {
  maxCandidates: 64,
  maxFiles: 32,
  maxWindowTokens: 64,
  defaultWindowTokens: 16,
  maxBudgetMillis: 60_000,
} as const;

/** Body of `POST /v1/prior`: how likely a language model finds each candidate's text, against the text that is there. */
export const PriorRequest = closed({
  requestId: RequestId,
  files: Type.Array(FocusFile, { minItems: 1, maxItems: priorBounds.maxFiles }),
  candidates: Type.Array(closed({ id: ItemId, edits: Type.Array(Edit, { minItems: 1, maxItems: 64 }) }), {
    minItems: 1,
    maxItems: priorBounds.maxCandidates,
    description: 'the most promising first: the budget may end the work',
  }),
  windowTokens: Type.Integer({
    minimum: 1,
    maximum: priorBounds.maxWindowTokens,
    default: priorBounds.defaultWindowTokens,
    description: 'tokens from the first one that differs',
  }),
  budgetMillis: Type.Integer({ minimum: 1, maximum: priorBounds.maxBudgetMillis, default: 5000 }),
});
export type PriorRequest = Static<typeof PriorRequest>;

/** Likelihood of one candidate: ln p(text after) − ln p(text before) over the window, nats; higher is likelier. Null: not measured. */
export const PriorScore = Type.Object({ id, gainNats: orNull(Type.Number()) });
export type PriorScore = Static<typeof PriorScore>;

/** Answer of `POST /v1/prior`; scores stand in the order of the request. */
export const PriorResponse = Type.Object({
  ...answered,
  scores: Type.Immutable(Type.Array(PriorScore, { maxItems: priorBounds.maxCandidates })),
  /** True when the budget ended the work. */
  truncated: Type.Boolean(),
  tokens: Type.Integer({ minimum: 0 }),
  millis: Type.Number({ minimum: 0 }),
});
export type PriorResponse = Static<typeof PriorResponse>;
