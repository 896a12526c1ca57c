/** The experts of a pool behind `/v1/generate` and the routes of the learned parts. Imports attempt's ports and protocol. */
export { answerReader } from './answer.ts';
export { chooseExpert } from './choose.ts';
export { ExpertsClient, type ExpertsOptions } from './client.ts';
export { PartsClient, type Answer, type Part } from './parts.ts';
export { partReader, type Exchanges, type PartCapability } from './partAnswers.ts';
export { post } from './post.ts';
