/**
 * Copies of requests to a revision in shadow: sent after the real answer, compared, and never heard. Imports experts, attempt's
 * ports and protocol. What is compared of verifiers is in `mind/verdicts.ts`.
 */
export { CopyClient, type CopyCapability, type CopyExchanges } from './ask.ts';
export type { Comparison, Judged, Verdict } from './counts.ts';
export { mirroredExperts } from './experts.ts';
export { Lane } from './lane.ts';
export { Mirror, type Question } from './mirror.ts';
