/** All that the façade takes from the SDK: a bundle of its own in the image, so that an idle keeper does not hold it. */
export { toNodeHandler } from '@modelcontextprotocol/node';
export { createMcpHandler, ProtocolError, ProtocolErrorCode, Server } from '@modelcontextprotocol/server';
