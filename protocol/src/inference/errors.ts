// protocol, inference: error codes, request ids, roles and engine types. May import environment alone.
import { Type, type Static, type TSchema } from 'typebox';
import type { ModelCalibration } from './calibration.ts';

/** Every refusal of the inference server. The code is the contract. */
export const inferenceErrors = {
  AF_INVALID: { status: 400, cure: 'correct the named field' },
  AF_UNAUTHENTICATED: { status: 401, cure: 'send a fresh token of the audience that the server expects' },
  AF_FORBIDDEN: { status: 403, cure: 'call as a worker of the pool, or be let in to metrics' },
  AF_ROLE_UNSUPPORTED: { status: 400, cure: 'ask for one of the roles of /v1/info' },
  AF_CAPABILITY_UNSUPPORTED: { status: 404, cure: 'ask a server whose /v1/info has the capability' },
  AF_LANGUAGE_UNSUPPORTED: { status: 400, cure: 'name at least one file that this engine can edit' },
  AF_SPECTRUM_MISMATCH: { status: 400, cure: 'count the lines of the same content that files carries' },
  AF_NOT_FOUND: { status: 404, cure: 'check the path and the method' },
  AF_RECORD_UNKNOWN: { status: 404, cure: 'record proposals for this goal, or start the server with the record that has them' },
  AF_RECORD_ENDED: { status: 410, cure: 'stop: nothing is recorded after this step' },
  AF_RECORD_MISMATCH: { status: 409, cure: 'record the proposals again on this state of the program' },
  AF_TOO_LARGE: { status: 413, cure: 'send fewer or smaller files' },
  AF_QUEUE_FULL: { status: 429, cure: 'repeat after the seconds of Retry-After' },
  AF_CANCELLED: { status: 499, cure: 'send the request again' },
  AF_ENGINE_UNAVAILABLE: { status: 503, cure: 'repeat it after the engine has started again; its container reports why it is away' },
  AF_STOPPING: { status: 503, cure: 'repeat on another replica' },
  AF_INTERNAL: { status: 500, cure: 'see the log of the inference container' },
} as const satisfies Record<string, { status: number; cure: string }>;

export type InferenceErrorCode = keyof typeof inferenceErrors;

/** Body of every answer that is not a success. */
export const InferenceErrorBody = Type.Object({
  error: Type.Object({
    code: Type.String({ description: 'one of the AF_ codes' }),
    message: Type.String(),
    /** Dotted path of the member that is wrong; null when no single member is. */
    field: Type.Union([Type.String(), Type.Null()]),
    cure: Type.String(),
  }),
});
export type InferenceErrorBody = Static<typeof InferenceErrorBody>;

/** Chosen by the caller; reported back and logged. */
export const RequestId = Type.String({
  minLength: 1,
  maxLength: 128,
  pattern: '^[A-Za-z0-9._:-]+$',
  description: 'chosen by the caller; reported back and logged',
});

/** Names one item of a batch in the answer. */
export const ItemId = Type.String({ minLength: 1, maxLength: 128 });

/** Members of every answer; `modelDigest` is that of the engine's code and weights. */
export const answered = { requestId: Type.String(), modelDigest: Type.String({ pattern: '^sha256:[0-9a-f]{64}$' }) };

/** A number 0…1. JSON has no NaN and no infinity: every number of an answer is finite. */
export const share = Type.Number({ minimum: 0, maximum: 1 });
export const orNull = <S extends TSchema>(schema: S) => Type.Union([schema, Type.Null()]);

/** Roles that answer `/v1/generate`. */
export const generatingRoles = ['Generalist', 'Specialist', 'Draft'] as const;
export type GeneratingRole = (typeof generatingRoles)[number];

/** Roles with an engine of our own; each has one route. */
export const builtinRoles = ['Planner', 'Verifier', 'Embedder', 'Policy'] as const;
export type BuiltinRole = (typeof builtinRoles)[number];

export const roles = [...generatingRoles, ...builtinRoles] as const;
export type Role = (typeof roles)[number];

/** Engines of a server. */
export const engineTypes = ['Synth', 'Replay', 'Llama', 'VLLM', 'Builtin'] as const;
export type EngineType = (typeof engineTypes)[number];

/** Capabilities that a server can be asked for. `Prior` is the likelihood of candidates of others. */
export const capabilities = ['Generate', 'Prior', 'Control', 'Score', 'Embed', 'Judge'] as const;
export type Capability = (typeof capabilities)[number];

/** Route of each capability. */
export const routes = {
  Generate: '/v1/generate',
  Prior: '/v1/prior',
  Control: '/v1/control',
  Score: '/v1/score',
  Embed: '/v1/embed',
  Judge: '/v1/judge',
} as const satisfies Record<Capability, string>;

/** Capability of a server with each role. */
export const capabilityOf = {
  Planner: 'Control',
  Verifier: 'Score',
  Embedder: 'Embed',
  Policy: 'Judge',
} as const satisfies Record<BuiltinRole, Capability>;

/** Report of an engine on a GPU about its memory. */
export interface EngineMemory {
  /** Tokens whose keys and values it holds at once. */
  readonly kvTokens: number;
}

/** Answer of `GET /v1/info`. */
export interface InferenceInfo {
  readonly version: string;
  readonly engine: EngineType;
  readonly roles: readonly Role[];
  readonly capabilities: readonly Capability[];
  /** `sha256:` of the engine's code and weights; the same in all answers. */
  readonly modelDigest: string;
  /** False for engines without a learned model (Synth, Replay). */
  readonly learned: boolean;
  /** Languages that a generating engine can edit; empty for the others. */
  readonly languages: readonly string[];
  /** Reason that its figures are reported but not acted upon; null: they are. */
  readonly shadow: string | null;
  /** Of a Verifier whose probabilities were calibrated; null or absent: they were not. */
  readonly calibration?: ModelCalibration | null;
  /** Absent: the engine reports nothing of it. */
  readonly memory?: EngineMemory;
  /** Settings and measures in force, for people: artifact, sizes, measures of the weights on held-out data. */
  readonly about: Readonly<Record<string, string | number | boolean | null>>;
}
