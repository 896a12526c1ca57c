// Conditions that a canary has to meet, each with a verdict that tells missing data from bad data. Pure.
export { evaluateGate } from './evaluate.ts';
export type { ArmEvidence, Gate, GateResult, Verdict } from './gate.ts';
