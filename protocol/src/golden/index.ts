/**
 * Golden sets: what the Job of a rollout's gate gets, and what it reports at its end.
 * May import the layers right of `golden` in docs/architecture.md.
 */
export { GoldenArm, goldenEnvironment, GoldenReport, goldenReportOf, mostReportBytes, type GoldenHead } from './report.ts';
