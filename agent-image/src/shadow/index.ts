/**
 * Copies of requests to a revision in shadow: sent after the real answer, compared, and never acted on. Imports
 * experts, attempt's ports and protocol. What is compared of verifiers is in `decision/opinion.ts`.
 */
export { mirroredExperts, Lane, Mirror } from './mirror.ts';
export type { Comparison, Judged } from './counts.ts';
