/** The HTTP server of the keeper, put together from the routes of `http/` and of `mcp/`. May import both; only the start imports it. */
export { createApp } from './app.ts';
