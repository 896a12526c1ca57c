/**
 * Data that the operator gives the workers of a pool: one ConfigMap in the pool's namespace, which the workers watch.
 * May import the layers right of `pool` in docs/architecture.md.
 */
export * from './ablations.ts';
export {
  assignedBrief,
  AbsentExpert,
  ArtifactPlace,
  CalibrationBrief,
  ChatModel,
  ComputeBrief,
  EgressBrief,
  ExpertArm,
  ExpertEndpoint,
  McpServerBrief,
  PoolBrief,
  ShadowBrief,
  ToolsBrief,
  HarnessBrief,
  VerifierArm,
  VerifierEndpoint,
  expertEngines,
  artifactsDir,
  authoritiesConfigMap,
  authoritiesFile,
  briefKey,
  credentialsDir,
  expertPort,
  labels,
  sandboxFinalizer,
  workerEnvironment,
  workerLease,
  workerPort,
} from './brief.ts';
