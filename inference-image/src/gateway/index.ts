/**
 * The model gateway of a pool: the OpenAI chat API in front, any model behind. Only it holds keys. `gateway.ts`
 * processes a request; each other file is one part of that. Imports the server's logger and listener, and nothing of
 * its engines.
 */
export { readGateway, type GatewayConfig } from './config.ts';
export { startGateway, type RunningGateway } from './start.ts';
