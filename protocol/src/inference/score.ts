// protocol, inference: requests and answers of `/v1/score`, `/v1/embed` and `/v1/judge`. May import environment and object alone.
import { Type, type Static } from 'typebox';
import { energyHeads, Features, featureSet } from './features.ts';
import { ItemId, RequestId, type Answered } from './errors.ts';
import { Edit, FocusFile } from './generate.ts';
import { closed } from '../object.ts';

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
  /** `sha256:` of the calibration that made the probabilities, as in `/v1/info`; null or absent: there is none. */
  readonly calibration?: string | null;
}

export const embedBounds = { maxTexts: 64, maxTextChars: 8192 } as const;

/** Body of `POST /v1/embed`. */
export const EmbedRequest = closed({
  requestId: RequestId,
  texts: Type.Array(Type.String({ minLength: 1, maxLength: embedBounds.maxTextChars }), { minItems: 1, maxItems: embedBounds.maxTexts }),
});
export type EmbedRequest = Static<typeof EmbedRequest>;

/** Answer of `POST /v1/embed`; vectors have length 1 and stand in the order of the request. */
export interface EmbedResponse extends Answered {
  readonly dimensions: number;
  readonly vectors: readonly (readonly number[])[];
}

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

export interface PolicyVerdict {
  readonly id: string;
  /** The likeliest class. */
  readonly label: PolicyLabel;
  /** Probability that the act is unsafe: 1 − P(Benign). */
  readonly unsafe: number;
  /** The rule that decided alone; null: the classifier did. */
  readonly rule: string | null;
}

/** Answer of `POST /v1/judge`; verdicts stand in the order of the request. */
export interface JudgeResponse extends Answered {
  readonly verdicts: readonly PolicyVerdict[];
}

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

export const controlBounds = { maxSteps: 512, maxExperts: 16 } as const;

/** Results of a step; `None` before it ran. As in the notes of the worker, and `Command` for one without a judgement. */
export const stepResults = [
  'None',
  'Command',
  'Unusable',
  'Denied',
  'Worse',
  'Equal',
  'Better',
  'Reached',
  'NotVerified',
  'Crashed',
] as const;
export type StepResult = (typeof stepResults)[number];

const finite = (minimum: number, maximum: number, description: string) =>
  Type.Optional(Type.Number({ minimum, maximum, description: `${description}; absent: not known` }));

/** One step of the work, as the planner sees it. Only what the worker knows at that moment. */
export const ControlStep = closed({
  tool: Type.Enum(['ExecCode', 'Shell', 'Files', 'Editor']),
  result: Type.Enum([...stepResults]),
  /** Index in the pool's experts of who proposed it; −1: none. */
  expert: Type.Integer({ minimum: -1, maximum: controlBounds.maxExperts - 1 }),
  entropyNats: finite(0, 100, 'entropy of the proposals'),
  marginNats: finite(0, 1000, 'energy gap of the two best proposals'),
  energy: finite(-1e6, 1e6, 'energy of the act'),
  pSuccess: finite(0, 1, 'probability by the verifier that it is good'),
  proposalShare: finite(0, 1, 'share in the mass of the proposals'),
  suspicion: finite(0, 1, 'how suspicious the place is'),
  edits: Type.Integer({ minimum: 0, maximum: 64 }),
  testsFailing: Type.Integer({ minimum: 0, maximum: 1e6 }),
  testsTotal: Type.Integer({ minimum: 0, maximum: 1e6 }),
  testsFixed: Type.Integer({ minimum: 0, maximum: 1e6 }),
  depth: Type.Integer({ minimum: 0, maximum: 64, description: 'accepted edits below this tree' }),
  seconds: Type.Number({ minimum: 0, maximum: 1e6, description: 'wall time of the step' }),
  budgetUsed: Type.Number({ minimum: 0, maximum: 1, description: 'share of the budget that is used' }),
});
export type ControlStep = Static<typeof ControlStep>;

/**
 * Body of `POST /v1/control`. The server keeps nothing: the steps so far are the state (the newest 512 of them), so that any
 * replica and any worker gets the same answer.
 */
export const ControlRequest = closed({
  requestId: RequestId,
  experts: Type.Array(Type.String({ minLength: 1, maxLength: 63 }), { minItems: 1, maxItems: controlBounds.maxExperts }),
  steps: Type.Array(ControlStep, { maxItems: controlBounds.maxSteps, description: 'oldest first; empty before the first one' }),
});
export type ControlRequest = Static<typeof ControlRequest>;

/** Answer of `POST /v1/control`: the control vector. */
export interface ControlResponse extends Answered {
  /** Ticks of the slow planner; one per 8 steps. */
  readonly tick: number;
  /** softmax over the experts of the request, by name. */
  readonly experts: readonly { readonly name: string; readonly p: number }[];
  /** P(the next step is refused, breaks a test, crashes or is not verified), 0…1. */
  readonly risk: number;
  /** Whether the work stands still, so that more thought is worth its price. */
  readonly deliberate: boolean;
  /** Reason that this must not be acted upon; null: act. */
  readonly shadow: string | null;
}
