// Conditions that a canary has to meet, each with a verdict that distinguishes missing data from bad data. Pure. One gate a file;
// may import statistics and routing beside it, and nothing above.
export { evaluateGate } from './evaluate.ts';
export { isSaidBy } from './rule.ts';
export type {
  ArmEvidence,
  CalibrationMaps,
  Gate,
  GateResult,
  GoldenEvidence,
  HeldOut,
  QueryAnswer,
  ShadowEvidence,
  Verdict,
} from './gate.ts';
export { mustPassBefore, speaks } from './phases.ts';
