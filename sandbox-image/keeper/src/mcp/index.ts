/**
 * The Model Context Protocol over the keeper's own handlers. The SDK, which is large, is loaded with the first request for it.
 * May import the layers right of `mcp` in docs/architecture.md and protocol.
 */
export { McpFacade } from './facade.ts';
export { loadMcpLibrary } from './load.ts';
