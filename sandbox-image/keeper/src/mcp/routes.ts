import type * as Library from './library.ts';
import { epochOf } from '../http/bodies.ts';
import { isIP } from 'node:net';
import type { FastifyInstance, FastifyRequest } from 'fastify';
import {
  type AstEditRequest,
  type ExecEnd,
  type ExecEvent,
  type ExecRequest,
  type LinesQuery,
  type ListQuery,
  type McpToolName,
  type PatchRequest,
  type ReplaceRequest,
  type SearchQuery,
  mcpBounds,
  mcpPath,
  mcpTools,
  patchBounds,
} from '@agentfleet/protocol/keeper';
// Not from the client's index: its HTTP client would be most of what an idle keeper loads.
import { newExecId } from '../client/client.ts';
import { KeeperError, asKeeperError } from '../base/failure.ts';
import type { Keeper } from '../keeper/keeper.ts';
import { compare, compileCheck, editTree, lines, list, patchFiles, replaceText, restore, search, take, writeWhole } from '../http/index.ts';
import { type FollowSource, follow } from '../exec/index.ts';
import type { Redacting } from '@agentfleet/protocol/redact';
import type { Server } from '@modelcontextprotocol/server';
import type { IncomingMessage, ServerResponse } from 'node:http';
import { errorFields } from '@agentfleet/protocol/log';

const bodyLimit = 2 * patchBounds.diffBytes + 1024 * 1024;

/** The Model Context Protocol, in its own scope: checks the token, then the origin, then the body. */
export function mcpRoutes(app: FastifyInstance, keeper: Keeper): void {
  let opening: Promise<McpFacade> | undefined;
  const facade = (): Promise<McpFacade> => (opening ??= open(keeper));

  app.addHook('onRequest', async (request) => {
    await keeper.authenticate(request.headers.authorization);
    assertOrigin(request, keeper.parts.config.pod.name);
  });

  app.route({
    method: ['GET', 'POST', 'DELETE'],
    url: mcpPath,
    bodyLimit,
    handler: async (request, reply) => {
      const epoch = epochOf(request);
      const mcp = await facade();
      reply.hijack();
      const { method, url } = request;
      await mcp.serve({ request: Object.assign(request.raw, { method, url }), response: reply.raw, body: request.body, epoch });
    },
  });
}

/** The SDK, which is large, is loaded with the first request for it: an idle keeper stays small. In the image it is a bundle beside the keeper's. */
async function open(keeper: Keeper) {
  const file = import.meta.url.endsWith('.ts') ? './library.ts' : './keeper-mcp.js';
  // Not a literal, because the bundler would include it.
  const library = (await import(/* @vite-ignore */ new URL(file, import.meta.url).href)) as typeof Library;
  return new McpFacade(library, keeper);
}

/**
 * Refuses requests of a browser for a foreign page, and host names that an attacker can point at this address. The
 * protocol requires it, although a refused caller had a token. @throws KeeperError `AF_FORBIDDEN`
 */
function assertOrigin({ headers: { host = '', origin } }: FastifyRequest, podName: string): void {
  const cure = 'call the keeper by its address or its name in the cluster, from a program that is no web page';
  if (!isOwnHost(hostOf(`http://${host}`), podName))
    throw new KeeperError('AF_FORBIDDEN', `host: ${host.slice(0, 200)} is not this sandbox`, { cure });
  if (origin !== undefined && !isLoopback(hostOf(origin)))
    throw new KeeperError('AF_FORBIDDEN', `origin: pages of ${origin.slice(0, 200)} may not call a sandbox`, { cure });
}

function hostOf(url: string): string {
  return URL.canParse(url) ? new URL(url).hostname.replace(/^\[|\]$/g, '') : '';
}

function isLoopback(host: string): boolean {
  return host === 'localhost' || host === '::1' || (isIP(host) === 4 && host.startsWith('127.'));
}

function isOwnHost(host: string, podName: string): boolean {
  return isLoopback(host) || isIP(host) !== 0 || host === podName || /\.(?:svc|pod)(?:\.cluster\.local)?$/.test(host);
}

/** Keeps the beginning and the end of a text that arrives in pieces; the middle is counted. */
class Clip {
  readonly #half: number;
  #head = '';
  #tail = '';
  #length = 0;

  constructor(chars: number) {
    this.#half = Math.floor(chars / 2);
  }

  push(text: string): void {
    this.#length += text.length;
    const room = this.#half - this.#head.length;
    this.#head += text.slice(0, room);
    if (text.length > room) this.#tail = (this.#tail + text.slice(Math.max(room, text.length - this.#half))).slice(-this.#half);
  }

  /** @param decode makes the kept characters readable */
  text(decode: (kept: string) => string): string {
    const left = this.#length - this.#head.length - this.#tail.length;
    const gap = left === 0 ? '' : `\n[… ${left} bytes left out …]\n`;
    return left === 0 ? decode(this.#head + this.#tail) : `${decode(this.#head)}${gap}${decode(this.#tail)}`;
  }
}

/**
 * Reads the events of a command until it ends or the time is over. Secrets are taken out here as well: a command whose
 * caller asked for exact bytes may be another's.
 */
async function outcomeOf({ keeper, signal: left }: McpCall, source: FollowSource, execId: string, from: number, waitSeconds: unknown) {
  const { clock, redaction } = keeper.parts;
  const redacting = redaction.open();
  const over = new AbortController();
  const stop = clock.after(Number(waitSeconds ?? mcpBounds.defaultWaitSeconds) * 1000, () => over.abort());
  const signal = AbortSignal.any([over.signal, left]);
  const streams = { stdout: shown(redacting), stderr: shown(redacting) };
  let next = from;
  let end: ExecEnd | undefined;
  try {
    for await (const event of eventsOf(source, { from, clock, signal })) {
      if ('seq' in event) next = event.seq + 1;
      if (event.type === 'out') streams[event.stream].push('text' in event ? Buffer.from(event.text) : Buffer.from(event.b64, 'base64'));
      if (event.type === 'end') end = event;
    }
  } catch (error) {
    if (!over.signal.aborted) throw error;
  } finally {
    stop();
  }
  const [stdout, stderr] = [streams.stdout.finish(), streams.stderr.finish()];
  const counts = end?.redacted ?? redacting.counts;
  return {
    execId,
    running: end === undefined,
    next,
    stdout,
    stderr,
    ...(end !== undefined && { end: reported(end) }),
    ...(counts !== null && { redacted: counts }),
  };
}

function reported({ type: _type, seq: _seq, ...end }: ExecEnd): Omit<ExecEnd, 'type' | 'seq'> {
  return end;
}

async function* eventsOf(source: FollowSource, options: Parameters<typeof follow>[1]): AsyncGenerator<ExecEvent> {
  let rest = '';
  for await (const chunk of follow(source, options)) {
    const lines = (rest + chunk.toString('latin1')).split('\n');
    rest = lines.pop() ?? '';
    for (const line of lines) yield JSON.parse(Buffer.from(line, 'latin1').toString('utf8')) as ExecEvent;
  }
}

function shown(redacting: Redacting) {
  const redactor = redacting.redactor();
  const clip = new Clip(mcpBounds.outputChars);
  return {
    push: (bytes: Buffer): void => clip.push(redactor.push(bytes.toString('latin1'))),
    finish: (): string => {
      clip.push(redactor.finish());
      return clip.text((kept) => Buffer.from(kept, 'latin1').toString('utf8'));
    },
  };
}

interface McpCall {
  readonly keeper: Keeper;
  /** Lets a changing call in, as the routes do. @throws KeeperError */
  readonly admit: () => Promise<number>;
  /** Fires when the caller no longer waits for the answer. */
  readonly signal: AbortSignal;
}

type Arguments = Readonly<Record<string, unknown>>;

type Handler = (call: McpCall, args: Arguments) => Promise<object>;

/** Query parameters are texts. */
function texts(args: Arguments): Record<string, string> {
  return Object.fromEntries(Object.entries(args).map(([name, value]) => [name, String(value)]));
}

async function run(call: McpCall, tool: 'ExecCode' | 'Shell', { waitSeconds, execId, ...args }: Arguments) {
  const epoch = await call.admit();
  const id = typeof execId === 'string' ? execId : newExecId();
  const source = await call.keeper.parts.executor.start({ execId: id, tool, ...args } as ExecRequest, epoch);
  return outcomeOf(call, source, id, 1, waitSeconds);
}

async function wait(call: McpCall, { execId, from, waitSeconds }: Arguments) {
  const source = await call.keeper.parts.executor.find(String(execId));
  return outcomeOf(call, source, String(execId), Number(from ?? 1), waitSeconds);
}

async function write({ keeper, admit }: McpCall, args: Arguments): Promise<object> {
  const { path, content, mode, syntax = 'Check' } = args as { path: string; content: string; mode?: string; syntax?: 'Check' | 'Skip' };
  const bytes = Buffer.from(content, 'utf8');
  return writeWhole(keeper, { epoch: await admit(), path, mode, content: bytes, bytes: bytes.length, syntax });
}

/** The tools, each by the handler of the keeper's own route: the same gate, fence, log and redaction. */
const calls: Readonly<Record<McpToolName, Handler>> = {
  exec_code: (call, args) => run(call, 'ExecCode', args),
  shell: (call, args) => run(call, 'Shell', args),
  wait,
  read: ({ keeper }, args) => lines(keeper, texts(args) as LinesQuery),
  list: ({ keeper }, args) => list(keeper, texts(args) as ListQuery),
  search: ({ keeper, signal }, args) => search(keeper, texts(args) as SearchQuery, signal),
  write,
  str_replace: async ({ keeper, admit }, args) => replaceText(keeper, await admit(), args as ReplaceRequest),
  apply_patch: async ({ keeper, admit }, args) =>
    patchFiles(keeper, await admit(), { requestId: newExecId(), ...args } as unknown as PatchRequest),
  ast_edit: async ({ keeper, admit }, args) => editTree(keeper, await admit(), args as AstEditRequest),
  snapshot: async ({ keeper, admit }, { label }) => take(keeper, await admit(), label as string | undefined),
  restore: async ({ keeper, admit }, { id }) => restore(keeper, await admit(), String(id)),
  diff: ({ keeper }, { from, to = 'current' }) => compare(keeper, { from: String(from), to: String(to) }),
};

interface McpExchange {
  readonly request: IncomingMessage & { method: string; url: string };
  readonly response: ServerResponse;
  readonly body: unknown;
  readonly epoch: string | undefined;
}

const instructions = `A sandbox in which everything can be undone: take a snapshot before you change something, restore it to
go back. Only one command runs at a time. Secrets are taken out of all answers: [REDACTED:Kind] stands for one.`;

/** Serves MCP without sessions: a new server for every request, backed by the keeper's own handlers. */
class McpFacade {
  readonly #library: typeof Library;
  readonly #keeper: Keeper;
  readonly #checks = new Map<string, (value: unknown) => Arguments>();

  constructor(library: typeof Library, keeper: Keeper) {
    this.#library = library;
    this.#keeper = keeper;
  }

  async serve({ request, response, body, epoch }: McpExchange): Promise<void> {
    const [keeper, library] = [this.#keeper, this.#library];
    const left = new AbortController();
    response.once('close', () => left.abort());
    const call: McpCall = { keeper, signal: left.signal, admit: () => keeper.admit(epoch) };
    const onerror = (error: Error): void => keeper.parts.logger.warn('an MCP request failed', errorFields(error));
    const handler = library.createMcpHandler(() => this.#server(call, epoch), { onerror });
    try {
      await library.toNodeHandler(handler, { onerror })(request, response, body);
    } finally {
      await handler.close();
    }
  }

  #server(call: McpCall, epoch: string | undefined): Server {
    const { version } = this.#keeper.parts.config;
    const server = new this.#library.Server({ name: 'agentfleet-sandbox', version }, { capabilities: { tools: {} }, instructions });
    const tools = Object.entries(mcpTools).map(([name, { inputSchema, ...tool }]) => ({ name, ...tool, inputSchema: plain(inputSchema) }));
    server.setRequestHandler('tools/list', () => ({ tools }));
    server.setRequestHandler('tools/call', ({ params }) => this.#call(call, epoch, params.name, params.arguments ?? {}));
    return server;
  }

  /** An error inside a tool is an answer that a model can read: code, message and cure. */
  async #call(call: McpCall, epoch: string | undefined, name: string, args: unknown) {
    const { ProtocolError, ProtocolErrorCode } = this.#library;
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
    const known = this.#checks.get(name) ?? compileCheck(mcpTools[name].inputSchema);
    this.#checks.set(name, known);
    return known;
  }
}

function isTool(name: string): name is McpToolName {
  return Object.hasOwn(mcpTools, name);
}

/** Returns a schema as JSON, without the library's symbols and hidden members. */
function plain(schema: object): { readonly type: 'object' } {
  return JSON.parse(JSON.stringify(schema)) as { readonly type: 'object' };
}
