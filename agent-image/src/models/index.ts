/** The chat models of a pool behind its gateway. Imports the attempt's failure and protocol. */
export { ChatModelsClient, type ChatModelsOptions } from './client.ts';
export { fenced } from './fence.ts';
export type { ChatModels, ModelProposal, ModelReply, ModelRequest } from './models.ts';
