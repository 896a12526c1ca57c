/** The Model Context Protocol over the keeper's own handlers. The SDK, which is large, is loaded with the first request for it. */
export { McpFacade, type FacadeOptions, type McpExchange } from './facade.ts';
export { loadMcpLibrary } from './load.ts';
