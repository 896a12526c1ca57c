/** The experts of a pool behind `/v1/generate` and the routes of the learned parts. Imports attempt's ports and protocol. */
export { answerReader, PartsClient, type Capability, type Part, type Exchanges, type PartCapability } from './parts.ts';
export { ExpertsClient } from './client.ts';
export { post } from './post.ts';
