/**
 * The inference server's HTTP API, version 1. One server, one engine, the capabilities that `/v1/info` lists; a route of
 * another capability answers AF_CAPABILITY_UNSUPPORTED. Errors are `{error: {code, message, field, cure}}`. All but the
 * probes need `Authorization: Bearer <token>`: of `expertsAudience` to work, of `metricsAudience` to read what is reported.
 *
 * | Request | Answer | Engines |
 * |---|---|---|
 * | `POST /v1/generate` {@link GenerateRequest} | {@link GenerateResponse} | Synth, Replay, Llama, VLLM |
 * | `POST /v1/prior` {@link PriorRequest} | {@link PriorResponse} | Llama |
 * | `POST /v1/control` {@link ControlRequest} | {@link ControlResponse} | Builtin as Planner |
 * | `POST /v1/score` {@link ScoreRequest} | {@link ScoreResponse} | Builtin as Verifier |
 * | `POST /v1/embed` {@link EmbedRequest} | {@link EmbedResponse} | Builtin as Embedder |
 * | `POST /v1/judge` {@link JudgeRequest} | {@link JudgeResponse} | Builtin as Policy |
 * | `GET /v1/info` | {@link InferenceInfo} | all |
 * | `GET /metrics` | for Prometheus | all |
 * | `GET /healthz`, `/readyz` | for the kubelet | all |
 *
 * May import `environment`, and nothing else of the project.
 */
export { requestSecondsBuckets } from './buckets.ts';
export * from './calibration.ts';
export { changedText } from './changes.ts';
export * from './control.ts';
export {
  EmbedRequest,
  EmbedResponse,
  embedBounds,
  JudgeRequest,
  JudgeResponse,
  JudgedAct,
  type PolicyLabel,
  PolicyVerdict,
  judgeBounds,
  policyLabels,
  PriorRequest,
  PriorResponse,
  PriorScore,
  priorBounds,
  EnergyScore,
  ScoreItem,
  ScoreRequest,
  ScoreResponse,
  scoreBounds,
} from './score.ts';
export {
  InferenceErrorBody,
  type InferenceErrorCode,
  inferenceErrors,
  type BuiltinRole,
  type Capability,
  type EngineMemory,
  type EngineType,
  type GeneratingRole,
  type InferenceInfo,
  type Role,
  builtinRoles,
  capabilities,
  capabilityOf,
  engineTypes,
  generatingRoles,
  roles,
  routes,
  ItemId,
  RequestId,
} from './errors.ts';
export { actFeatures, docTestDelta } from './extract.ts';
export * from './features.ts';
export * from './generate.ts';
export * from './replay.ts';
export * from './spectrum.ts';
