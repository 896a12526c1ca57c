/** Golden sets: what the Job of a rollout's gate is reported, and what it says at its end. */
export { GoldenArm, goldenEnvironment, GoldenReport, goldenReportOf, mostReportBytes, type GoldenHead } from './report.ts';
