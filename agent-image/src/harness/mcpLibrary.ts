// agent-image, harness: imports from the MCP SDK, loaded on demand. May import attempt, checks, rails, models, base; loop in endpoint only.

/** All imports from the SDK for servers; loaded with the first program that acts by tools. */
export { toNodeHandler } from '@modelcontextprotocol/node';
export { createMcpHandler, Server } from '@modelcontextprotocol/server';
