import { randomBytes, timingSafeEqual } from 'node:crypto';
import { createServer, type IncomingMessage } from 'node:http';
import type { AddressInfo } from 'node:net';
import { FleetError, type FleetClient } from '@agentfleet/client';
import { toNodeHandler } from '@modelcontextprotocol/node';
import { createMcpHandler, ProtocolError, ProtocolErrorCode, Server } from '@modelcontextprotocol/server';
import { StdioServerTransport } from '@modelcontextprotocol/server/stdio';
import { CliError } from '../base/failure.ts';
import { fleetTools, type FleetTool } from './tools.ts';

/** Tools that are served, and the fleet that they reach. */
interface FleetMcpOptions {
  readonly fleet: FleetClient;
  readonly tools: readonly FleetTool[];
  readonly signal: AbortSignal;
}

/** The tools of a list of names; all where there is none. @throws CliError */
export function toolsOf(names: readonly string[] | undefined): readonly FleetTool[] {
  const unknown = names?.find((name) => !fleetTools.some((tool) => tool.name === name));
  if (unknown !== undefined)
    throw new CliError(`there is no tool ${unknown}; the tools are ${fleetTools.map(({ name }) => name).join(', ')}`);
  return fleetTools.filter(({ name }) => names?.includes(name) !== false);
}

/** A server for one client. Errors of a tool are returned to the model, with their cure. */
export function mcpServer({ fleet, tools, signal }: FleetMcpOptions): Server {
  const server = new Server({ name: 'agentfleet', version: '0.1.0' }, { capabilities: { tools: {} } });
  server.setRequestHandler('tools/list', () => ({
    tools: tools.map(({ name, description, inputSchema, annotations }) => ({
      name,
      description,
      inputSchema: { ...inputSchema, required: [...(inputSchema.required ?? [])] },
      annotations,
    })) as never,
  }));
  server.setRequestHandler('tools/call', async ({ params }) => {
    const tool = tools.find(({ name }) => name === params.name);
    if (tool === undefined) throw new ProtocolError(ProtocolErrorCode.InvalidParams, `there is no tool ${params.name}`);
    try {
      const answer = await tool.call(fleet, params.arguments ?? {}, signal);
      return { content: [{ type: 'text' as const, text: typeof answer === 'string' ? answer : JSON.stringify(answer, null, 2) }] };
    } catch (error) {
      if (!(error instanceof CliError) && !(error instanceof FleetError)) throw error;
      return { content: [{ type: 'text' as const, text: error.message }], isError: true };
    }
  });
  return server;
}

/** Serves one client over standard input and output, until it goes. */
export async function serveStdio(options: FleetMcpOptions): Promise<void> {
  const server = mcpServer(options);
  const closed = new Promise<void>((resolve) => {
    // oxlint-disable-next-line unicorn/prefer-add-event-listener -- the library has this property only
    server.onclose = resolve;
    options.signal.addEventListener('abort', () => resolve(), { once: true });
    process.stdin.once('end', () => resolve());
  });
  await server.connect(new StdioServerTransport());
  await closed;
  await server.close();
}

/**
 * Serves streamable HTTP on the loopback, until the signal. Other users of the machine and pages in a browser reach that port too: each
 * request needs the token, and a Host of the loopback.
 */
export async function serveHttp(
  options: FleetMcpOptions & { readonly port: number },
  started: (url: string, token: string) => void,
): Promise<void> {
  const token = randomBytes(24).toString('base64url');
  const handle = toNodeHandler(createMcpHandler(() => mcpServer(options)));
  const server = createServer((request, response) => {
    if (!isLocal(request)) response.writeHead(403).end('this server answers at 127.0.0.1 only\n');
    else if (!isKnown(request, token))
      response.writeHead(401, { 'www-authenticate': 'Bearer' }).end('give the token that "fleet mcp" printed\n');
    else void handle(request as Parameters<typeof handle>[0], response);
  });
  const { promise, resolve, reject } = Promise.withResolvers<void>();
  server.once('error', (error) =>
    reject(new CliError(`port ${options.port} cannot be served (${error.message}); name another one with --http`)),
  );
  server.listen(options.port, '127.0.0.1', () => started(`http://127.0.0.1:${(server.address() as AddressInfo).port}/mcp`, token));
  options.signal.addEventListener('abort', () => {
    server.closeAllConnections();
    server.close(() => resolve());
  });
  await promise;
}

function isLocal({ headers }: IncomingMessage): boolean {
  const host = (headers.host ?? '').replace(/:\d+$/, '');
  return (host === '127.0.0.1' || host === 'localhost') && headers.origin === undefined;
}

function isKnown({ headers }: IncomingMessage, token: string): boolean {
  const [given, wanted] = [headers.authorization ?? '', `Bearer ${token}`].map((one) => Buffer.from(one));
  return given !== undefined && wanted !== undefined && given.length === wanted.length && timingSafeEqual(given, wanted);
}
