/**
 * An MCP server as a separate process for tests: `node mcpServer.ts [authorization]`. Prints its port. Each request
 * gets a new server of the SDK.
 */
import { randomUUID } from 'node:crypto';
import { createServer, type IncomingMessage, type ServerResponse } from 'node:http';
import { setTimeout as delay } from 'node:timers/promises';
import { NodeStreamableHTTPServerTransport, toNodeHandler } from '@modelcontextprotocol/node';
import { createMcpHandler, ProtocolError, Server } from '@modelcontextprotocol/server';
import { listening } from '../../egress/testing/sockets.ts';

const [, , authorization] = process.argv;
let counted = 0;
const text = (words: string): object => ({ content: [{ type: 'text', text: words }] });

/** Tools by name, and their behaviour. */
const calls: Readonly<Record<string, (args: Readonly<Record<string, unknown>>) => object | Promise<object>>> = {
  echo: ({ words }) => text(`said: ${String(words)}\u001b[31m!\u001b[0m`),
  count: () => text(`call ${(counted += 1)}`),
  authority: () => text(`it is "${authorization ?? ''}"`),
  picture: () => ({ content: [{ type: 'image', data: 'AAAA', mimeType: 'image/png' }] }),
  fail: () => ({ ...text('no such record'), isError: true }),
  refuse: () => {
    throw new ProtocolError(-32_602, 'words: missing');
  },
  crash: () => {
    counted += 1;
    throw new Error('the mail could not be sent');
  },
  slow: async () => text((await delay(60_000)) ?? 'late'),
  die: () => process.exit(1),
  big: () => text('x'.repeat(5_000_000)),
};

function server(): Server {
  const made = new Server({ name: 'test', version: '1' }, { capabilities: { tools: {} } });
  const inputSchema = { type: 'object' as const, properties: { words: { type: 'string' } } };
  const good = Object.keys(calls).map((name) => ({ name, description: `Does ${name}.`, inputSchema, annotations: { readOnlyHint: true } }));
  const bad = { name: 'bad', inputSchema: { type: 'object' as const, properties: { words: { type: 'nothing' } } } };
  made.setRequestHandler('tools/list', () => ({ tools: [...good, bad] }));
  made.setRequestHandler('tools/call', ({ params }) => calls[params.name]?.(params.arguments ?? {}) as never);
  return made;
}

const stateless = toNodeHandler(createMcpHandler(server));
/** By id; only of clients that send the path `/session`. */
const sessions = new Map<string, NodeStreamableHTTPServerTransport>();

/** Keeps a session for each client, as the protocol allows; reports their number on `/sessions`. */
async function stateful(request: IncomingMessage, response: ServerResponse): Promise<void> {
  if (request.url === '/sessions') return void response.end(String(sessions.size));
  const id = String(request.headers['mcp-session-id'] ?? '');
  let transport = sessions.get(id);
  if (transport === undefined) {
    transport = new NodeStreamableHTTPServerTransport({
      sessionIdGenerator: randomUUID,
      onsessioninitialized: (made) => void (transport !== undefined && sessions.set(made, transport)),
      onsessionclosed: (gone) => void sessions.delete(gone),
    });
    await server().connect(transport);
  }
  await transport.handleRequest(request, response);
}

const http = createServer((request, response) => {
  if (authorization !== undefined && request.headers.authorization !== authorization) response.writeHead(403).end();
  else void (request.url?.startsWith('/session') === true ? stateful(request, response) : stateless(request as never, response));
});
console.log(await listening(http));
