import { Type, type Static } from 'typebox';
import { ItemId, RequestId, type Answered } from './wire.ts';

export const judgeBounds = { maxActs: 64, maxTextChars: 65_536 } as const;

/** Classes of the policy classifier; all but `Benign` are unsafe. */
export const policyLabels = ['Benign', 'Destructive', 'Exfiltration', 'Escape', 'Persistence', 'Tampering'] as const;
export type PolicyLabel = (typeof policyLabels)[number];

/** One act: a command line, or the new text of a file. */
export const JudgedAct = Type.Object(
  {
    id: ItemId,
    tool: Type.Enum(['ExecCode', 'Shell', 'FileWrite']),
    /** The command as a shell would read it; for FileWrite the path. */
    subject: Type.String({ minLength: 1, maxLength: judgeBounds.maxTextChars }),
    /** The lines that FileWrite adds. */
    content: Type.Optional(Type.String({ maxLength: judgeBounds.maxTextChars })),
    /** Ids of the rails of gate 1 that found something. */
    rails: Type.Array(Type.String({ maxLength: 64 }), { maxItems: 64 }),
  },
  { additionalProperties: false },
);
export type JudgedAct = Static<typeof JudgedAct>;

/** Body of `POST /v1/judge`. */
export const JudgeRequest = Type.Object(
  { requestId: RequestId, acts: Type.Array(JudgedAct, { minItems: 1, maxItems: judgeBounds.maxActs }) },
  { additionalProperties: false },
);
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
