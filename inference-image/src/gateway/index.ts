/**
 * The model gateway of a pool: the OpenAI chat API in front, any model behind. It alone holds keys. `gateway.ts` is what happens
 * to a request; each other file is one part of it. Imports the server's logger and listener, and nothing of its engines.
 */
export { readGateway, type GatewayConfig } from './config.ts';
export { startGateway, type RunningGateway } from './start.ts';
