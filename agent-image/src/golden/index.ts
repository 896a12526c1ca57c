/**
 * Golden sets: cases with known answers, put to one revision of experts or of a verifier. A Job of a rollout's gate.
 * May import the layers right of `golden` in docs/architecture.md; of packages protocol, kube and the keeper's client.
 */
export { readGoldenConfig, runGolden } from './run.ts';
