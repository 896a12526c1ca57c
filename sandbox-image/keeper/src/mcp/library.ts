// sandbox-image/keeper, mcp: imports from the MCP SDK, a bundle of their own. May import http, the layers below it and protocol.

/** All imports of the façade from the SDK: a separate bundle in the image, so that an idle keeper does not hold it. */
export { toNodeHandler } from '@modelcontextprotocol/node';
export { createMcpHandler, ProtocolError, ProtocolErrorCode, Server } from '@modelcontextprotocol/server';
