import type { Server } from '@modelcontextprotocol/server';
import type { IncomingMessage, ServerResponse } from 'node:http';
import { mcpTools, type McpToolName } from '@agentfleet/protocol/keeper';
import { asKeeperError } from '../failure.ts';
import type { Keeper } from '../keeper.ts';
import { errorFields } from '../logger.ts';
import { calls, type Arguments, type McpCall } from './calls.ts';
import type * as library from './library.ts';

/** One request over HTTP, already let in by its token. */
export interface McpExchange {
  readonly request: IncomingMessage & { method: string; url: string };
  readonly response: ServerResponse;
  readonly body: unknown;
  /** The epoch's header as it came. */
  readonly epoch: string | undefined;
}

/** The SDK. */
export type McpLibrary = typeof library;

export interface FacadeOptions {
  readonly library: McpLibrary;
  readonly keeper: Keeper;
  readonly newId: () => string;
  /** Makes a check of arguments. What is made throws `AF_INVALID`. */
  readonly compile: (schema: object) => (value: unknown) => Arguments;
}

const instructions = `A sandbox in which everything can be undone: take a snapshot before you change something, restore it to
go back. Only one command runs at a time. Secrets are taken out of all answers: [REDACTED:Kind] stands for one.`;

/** Serves MCP without sessions: a fresh server for every request, the keeper's own handlers behind it. */
export class McpFacade {
  readonly #options: FacadeOptions;
  readonly #checks = new Map<string, (value: unknown) => Arguments>();

  constructor(options: FacadeOptions) {
    this.#options = options;
  }

  async serve({ request, response, body, epoch }: McpExchange): Promise<void> {
    const { keeper, newId, library } = this.#options;
    const left = new AbortController();
    response.once('close', () => left.abort());
    const call: McpCall = { keeper, newId, signal: left.signal, admit: () => keeper.admit(epoch) };
    const onerror = (error: Error): void => keeper.parts.logger.warn('an MCP request failed', errorFields(error));
    const handler = library.createMcpHandler(() => this.#server(call, epoch), { onerror });
    try {
      await library.toNodeHandler(handler, { onerror })(request, response, body);
    } finally {
      await handler.close();
    }
  }

  #server(call: McpCall, epoch: string | undefined): Server {
    const { version } = this.#options.keeper.parts.config;
    const server = new this.#options.library.Server({ name: 'agentfleet-sandbox', version }, { capabilities: { tools: {} }, instructions });
    const tools = Object.entries(mcpTools).map(([name, { inputSchema, ...tool }]) => ({ name, ...tool, inputSchema: plain(inputSchema) }));
    server.setRequestHandler('tools/list', () => ({ tools }));
    server.setRequestHandler('tools/call', ({ params }) => this.#call(call, epoch, params.name, params.arguments ?? {}));
    return server;
  }

  /** What goes wrong inside of a tool is an answer that a model can read: code, words and cure. */
  async #call(call: McpCall, epoch: string | undefined, name: string, args: unknown) {
    const { ProtocolError, ProtocolErrorCode } = this.#options.library;
    if (!isTool(name)) throw new ProtocolError(ProtocolErrorCode.InvalidParams, `there is no tool ${name.slice(0, 100)}`);
    const { keeper } = call;
    try {
      keeper.parts.fence.check(epoch);
      const answer = await calls[name](call, this.#check(name)(args));
      return { content: [{ type: 'text' as const, text: JSON.stringify(answer) }], structuredContent: { ...answer } };
    } catch (error) {
      const failure = asKeeperError(error);
      if (failure.code === 'AF_INTERNAL') keeper.parts.logger.error('a tool failed', { tool: name, ...errorFields(failure) });
      const body = keeper.parts.redaction.open().value(failure.body);
      return { content: [{ type: 'text' as const, text: JSON.stringify(body) }], structuredContent: { ...body }, isError: true };
    }
  }

  #check(name: McpToolName): (value: unknown) => Arguments {
    const known = this.#checks.get(name) ?? this.#options.compile(mcpTools[name].inputSchema);
    this.#checks.set(name, known);
    return known;
  }
}

function isTool(name: string): name is McpToolName {
  return Object.hasOwn(mcpTools, name);
}

/** A schema as it goes over the wire: without what the library keeps in symbols and hidden members. */
function plain(schema: object): { readonly type: 'object' } {
  return JSON.parse(JSON.stringify(schema)) as { readonly type: 'object' };
}
