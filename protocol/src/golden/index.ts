/**
 * Golden sets: what the Job of a rollout's gate is reported, and what it says at its end.
 * May import the layers right of `golden` in docs/architecture.md.
 */
export { GoldenArm, goldenEnvironment, GoldenReport, goldenReportOf, mostReportBytes, type GoldenHead } from './report.ts';
