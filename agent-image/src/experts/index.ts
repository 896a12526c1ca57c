/** The experts of a pool behind `/v1/generate` and the routes of the learned parts. Imports attempt's ports and protocol. */
export type { Capability, Exchanges, PartCapability } from './answers.ts';
export { InferenceClient, type Part, type Question } from './ask.ts';
export { ExpertsClient, generateMillis } from './client.ts';
export { PartsClient } from './parts.ts';
