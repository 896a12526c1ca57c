/** Golden sets: cases with known answers, put to one revision of experts or of a verifier. A Job of a rollout's gate. */
export { readGoldenConfig, type GoldenConfig, runGolden, type GoldenRun } from './run.ts';
