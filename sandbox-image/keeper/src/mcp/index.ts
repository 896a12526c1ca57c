/** The Model Context Protocol over the keeper's own handlers. Imported with the first request for it: the library is large. */
export { McpFacade, type FacadeOptions, type McpExchange } from './facade.ts';
