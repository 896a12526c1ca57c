import type { ModelCalibration } from './calibration.ts';

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

/** What a server can be asked for. `Prior` is the likelihood of candidates of others. */
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

/** What a server with each role answers. */
export const capabilityOf = {
  Planner: 'Control',
  Verifier: 'Score',
  Embedder: 'Embed',
  Policy: 'Judge',
} as const satisfies Record<BuiltinRole, Capability>;

/** What an engine on a GPU tells of its memory. */
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
  /** What a generating engine can edit; empty for the others. */
  readonly languages: readonly string[];
  /** Why what it says is told but not acted upon; null: it is. */
  readonly shadow: string | null;
  /** Of a Verifier whose probabilities were calibrated; null or absent: they were not. */
  readonly calibration?: ModelCalibration | null;
  /** Absent: the engine tells nothing of it. */
  readonly memory?: EngineMemory;
  /** What is in force, for people: artifact, sizes, measures of the weights on held-out data. */
  readonly about: Readonly<Record<string, string | number | boolean | null>>;
}
