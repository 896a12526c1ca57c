/** The chat models of a pool behind its gateway. Imports the attempt's failure and protocol. */
export { ChatModelsClient, modelRefusal, type ChatModelsOptions } from './client.ts';
export { fenced } from './fence.ts';
export type { ChatModels, ForwardedAnswer, ForwardedRequest, ModelProposal, ModelReply, ModelRequest } from './models.ts';
