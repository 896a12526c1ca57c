/**
 * An MCP server of its own process for tests: `node mcpServer.ts [authorization]`. Prints its port. Each request has a server of
 * its own, by the SDK.
 */
import { createServer } from 'node:http';
import { setTimeout as delay } from 'node:timers/promises';
import { toNodeHandler } from '@modelcontextprotocol/node';
import { createMcpHandler, ProtocolError, Server } from '@modelcontextprotocol/server';
import { listening } from '../../egress/testing.ts';

const [, , authorization] = process.argv;
let counted = 0;
const text = (words: string): object => ({ content: [{ type: 'text', text: words }] });

/** By name; what they do when they are called. */
const calls: Readonly<Record<string, (args: Readonly<Record<string, unknown>>) => object | Promise<object>>> = {
  echo: ({ words }) => text(`said: ${String(words)}\u001b[31m!\u001b[0m`),
  count: () => text(`call ${(counted += 1)}`),
  authority: () => text(`it is "${authorization ?? ''}"`),
  picture: () => ({ content: [{ type: 'image', data: 'AAAA', mimeType: 'image/png' }] }),
  fail: () => ({ ...text('no such record'), isError: true }),
  refuse: () => {
    throw new ProtocolError(-32_602, 'words: missing');
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

const handle = toNodeHandler(createMcpHandler(server));
const http = createServer((request, response) => {
  if (authorization !== undefined && request.headers.authorization !== authorization) response.writeHead(403).end();
  else void handle(request as never, response);
});
console.log(await listening(http));
