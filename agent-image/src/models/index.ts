/** The chat models of a pool behind its gateway. Imports `base` and protocol. */
export { ChatModelsClient, modelRefusal } from './client.ts';
export type { ChatModels, ForwardedAnswer } from './models.ts';
