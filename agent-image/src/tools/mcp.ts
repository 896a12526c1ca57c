import { createHash } from 'node:crypto';
import { Ajv } from 'ajv';
import type { ToolDefinition } from '@agentfleet/protocol/chat';
import { canonicalJson } from '@agentfleet/protocol/text';
import { effectJournal } from '../attempt/acts.ts';
import { AttemptFailure } from '../base/failure.ts';
import { poolRules } from '../attempt/sandboxSession.ts';
import type { Scope } from '../attempt/scope.ts';
import { HostList, type AddressRules } from '../egress/index.ts';
import { McpConnection, McpFault, type McpServer } from './mcpConnection.ts';
import { isAllowed, plain, type Observation, type Tool, type ToolContext } from './tool.ts';

/** A server's tool in the log: the models' view of it, equal in all workers. */
interface McpToolRecord {
  readonly server: string;
  readonly name: string;
  readonly description: string;
  readonly parameters: Readonly<Record<string, unknown>>;
}

/** The listings of a task's servers at the start of a conversation. */
export interface McpListing {
  readonly tools: readonly McpToolRecord[];
  /** Tools left out and why, a line each. */
  readonly warnings: readonly string[];
}

export const nothingListed: McpListing = { tools: [], warnings: [] };

/** Bounds of the schemas that servers may add to each request. */
export const mcpBounds = { tools: 64, perServer: 32, description: 1024, schemaBytes: 8192, allBytes: 65_536 } as const;
/** Characters of a call that gates, people and the log see; a longer one is named by its digest. */
const shownCall = 2000;
const defaultSeconds = 60;

type Said = Pick<Scope['context'], 'task' | 'pool'>;

/** The servers that a task may use, and why it may not use others that it names. Pure. */
export function serversOf({ task, pool }: Said): { readonly servers: readonly McpServer[]; readonly refused: readonly string[] } {
  const servers: McpServer[] = [];
  const refused: string[] = [];
  for (const { name, url, required } of task.spec.tools?.mcpServers ?? []) {
    const listed = pool.tools?.mcpServers.find((one) => one.name === name);
    const rules = poolRules(pool);
    if (listed !== undefined && (url === undefined || url === listed.url)) {
      servers.push({ ...listed, required, rules: { ...rules, open: [...rules.open, hostOf(listed.url)] } });
    } else if (listed === undefined && url !== undefined && new HostList(pool.allowedHosts ?? []).has(hostOf(url)))
      servers.push({ name, url, timeoutSeconds: defaultSeconds, required, headers: [], readOnly: false, rules });
    else refused.push(name);
  }
  return { servers, refused };
}

function hostOf(url: string): AddressRules['open'][number] {
  const { hostname, port, protocol } = new URL(url);
  return { host: hostname, port: Number(port || (protocol === 'https:' ? 443 : 80)) };
}

/** The MCP servers of one conversation. */
export class McpServers {
  readonly #scope: Scope;
  readonly #servers: readonly McpServer[];
  readonly #refused: readonly string[];
  readonly #connections = new Map<string, McpConnection>();

  constructor(scope: Scope) {
    this.#scope = scope;
    const { servers, refused } = serversOf(scope.context);
    this.#servers = servers;
    this.#refused = refused;
  }

  /** Asks all servers for their tools. @throws AttemptFailure Infrastructure where one that is required does not answer */
  async list(): Promise<McpListing> {
    const warnings = this.#refused.map((name) => `MCP server ${name} is left out: the pool does not list it, nor its host`);
    const tools: McpToolRecord[] = [];
    const listed = await Promise.all(this.#servers.map(async (server) => ({ server, ...(await this.#listOne(server)) })));
    for (const { server, found, why } of listed) {
      if (why !== null) {
        if (server.required) throw new AttemptFailure('Infrastructure', 'McpServerUnavailable', `MCP server ${server.name}: ${why}`);
        warnings.push(`MCP server ${server.name} is left out: ${why}`);
        continue;
      }
      const fit = fitting(server.name, found, tools);
      tools.push(...fit.tools.filter((one) => isAllowed(this.#scope.context, nameOf(one))));
      warnings.push(...fit.warnings);
    }
    for (const warning of warnings) this.#scope.context.log.warn('MCP', { warning });
    return { tools, warnings };
  }

  /** The tools of a listing, of this worker or an earlier one. */
  tools(listing: McpListing): readonly Tool[] {
    return listing.tools.map((record) => this.#tool(record));
  }

  async close(): Promise<void> {
    await Promise.all([...this.#connections.values()].map((one) => one.close()));
  }

  async #listOne(server: McpServer): Promise<{ readonly found: readonly unknown[]; readonly why: string | null }> {
    try {
      return { found: await this.#connection(server).list(), why: null };
    } catch (error) {
      if (error instanceof McpFault) return { found: [], why: error.message };
      throw error;
    }
  }

  #connection(server: McpServer): McpConnection {
    const { context, options } = this.#scope;
    if (options.web === undefined) throw new McpFault('this worker has no way out', false);
    const { clock, signal, pool } = context;
    const known =
      this.#connections.get(server.name) ?? new McpConnection(server, { ...options.web, credentials: pool.credentials, clock, signal });
    this.#connections.set(server.name, known);
    return known;
  }

  #tool(record: McpToolRecord): Tool {
    const server = this.#servers.find(({ name }) => name === record.server);
    const { description, parameters } = record;
    const reads = server?.readOnly === true;
    const definition: ToolDefinition = { name: nameOf(record), description, parameters, risk: reads ? 'Read' : 'Execute' };
    const propose: Tool['propose'] = (args) => Promise.resolve({ rewrites: [], acts: [], outside: [callText(definition.name, args)] });
    return { definition, validates: false, run: (args, context) => this.#run(record, args, context), ...(!reads && { propose }) };
  }

  /** The durable log has the intent before another machine is called. */
  async #run(record: McpToolRecord, args: Readonly<Record<string, unknown>>, context: ToolContext): Promise<Observation> {
    const { scope, approved, identity } = context;
    const server = this.#servers.find(({ name }) => name === record.server);
    if (server === undefined) return failed(record.server, 'the pool does not list it any more', false);
    const { attempt } = scope.context.assignment;
    const command = callText(nameOf(record), args);
    scope.meter.add('toolCalls');
    const call = async (): Promise<Pick<Observation, 'ok' | 'text'>> => {
      // Within the effect's notes: where the sandbox is lost, a rollback has to list what may stand outside.
      await scope.session.note('Intent', { attempt, reach: 'Mcp', command, ...identity });
      await scope.context.intentDurable();
      try {
        const answer = await this.#connection(server).call(record.name, args);
        const text = textOf(answer);
        return { ok: !answer.isError, text: answer.isError ? `${text}\n[MCP server ${server.name} reports an error]` : text };
      } catch (error) {
        if (error instanceof McpFault && !error.maybeDone) return failed(server.name, error.message, false);
        throw error;
      }
    };
    try {
      const external = server.readOnly ? [] : [{ argv: [command], via: [], span: { start: 0, end: 0 } }];
      const { ok, text } = await effectJournal(scope).around({ command, approved, external, movesAbout: false }, call);
      await scope.session.note('McpCalled', { attempt, server: server.name, tool: record.name, ok, characters: text.length });
      return { ok, changed: false, text };
    } catch (error) {
      if (!(error instanceof McpFault)) throw error;
      scope.context.log.warn('a call of an MCP server failed', { server: server.name, error: error.message });
      return failed(server.name, error.message, error.maybeDone && !server.readOnly);
    }
  }
}

function failed(server: string, why: string, maybeDone: boolean): Observation {
  const end = maybeDone ? 'whether the call was carried out is not known: look before you repeat it' : 'the call was not carried out';
  return { ok: false, changed: false, text: `[MCP server ${server}: ${why}; ${end}]` };
}

function nameOf({ server, name }: Pick<McpToolRecord, 'server' | 'name'>): string {
  return `${server}__${name}`;
}

/** A call on one line, as gates and people judge it. */
function callText(name: string, args: Readonly<Record<string, unknown>>): string {
  const text = `mcp ${name} ${JSON.stringify(args)}`;
  if (text.length <= shownCall) return text;
  return `${text.slice(0, shownCall - 100)}… sha256:${createHash('sha256').update(text).digest('hex')}`;
}

/** Names that providers take: with the server's, 64 characters of these. */
const goodName = /^[a-zA-Z0-9_-]+$/;
const mostName = 64;
/** Tools of one server that are looked at. */
const mostJudged = 32 * mcpBounds.perServer;

/** Returns the tools of a server that may be offered beside the existing ones, and the faults of the others. Pure. */
export function fitting(server: string, found: readonly unknown[], before: readonly McpToolRecord[]): McpListing {
  const tools: McpToolRecord[] = [];
  const warnings: string[] = [];
  for (const one of found.slice(0, mostJudged)) {
    const record = recordOf(server, one);
    const name = plain(String((one as { readonly name?: unknown } | null)?.name)).slice(0, 100);
    const why = typeof record === 'string' ? record : misfit(record, tools, before);
    if (typeof record === 'string' || why !== null) warnings.push(`tool ${name} of MCP server ${server} is left out: ${String(why)}`);
    else tools.push(record);
  }
  if (found.length > mostJudged) warnings.push(`MCP server ${server} lists ${found.length} tools, of which ${mostJudged} are looked at`);
  return {
    tools,
    warnings: warnings.length <= 16 ? warnings : [...warnings.slice(0, 15), `and ${warnings.length - 15} more of MCP server ${server}`],
  };
}

const sizeOf = ({ description, parameters }: McpToolRecord): number =>
  Buffer.byteLength(description) + Buffer.byteLength(JSON.stringify(parameters));

/** @param own the tools of the same server that are offered @param before those of others */
function misfit(record: McpToolRecord, own: readonly McpToolRecord[], before: readonly McpToolRecord[]): string | null {
  if (own.some(({ name }) => name === record.name)) return 'the server lists its name twice';
  if (own.length >= mcpBounds.perServer) return `a server may add ${mcpBounds.perServer} tools`;
  if (before.length + own.length >= mcpBounds.tools) return `servers may add ${mcpBounds.tools} tools`;
  const bytes = [...before, ...own, record].reduce((sum, one) => sum + sizeOf(one), 0);
  return bytes > mcpBounds.allBytes ? `all descriptions and schemas may have ${mcpBounds.allBytes} bytes` : null;
}

/** A tool as it is offered, or why it cannot be. Its members are in the order in which the log keeps them, so that all workers send the same. */
function recordOf(server: string, one: unknown): McpToolRecord | string {
  const { name, description = '', inputSchema } = (one ?? {}) as Readonly<Partial<Record<'name' | 'description' | 'inputSchema', unknown>>>;
  if (typeof name !== 'string' || !goodName.test(name) || `${server}__${name}`.length > mostName)
    return `with its server a name has ${mostName} characters at most, of letters, digits, - and _`;
  if (typeof inputSchema !== 'object' || inputSchema === null || Array.isArray(inputSchema)) return 'it has no schema';
  const { $schema: _, ...parameters } = inputSchema as Readonly<Record<string, unknown>>;
  const json = canonicalJson(parameters);
  if (Buffer.byteLength(json) > mcpBounds.schemaBytes) return `its schema has more than ${mcpBounds.schemaBytes} bytes`;
  if (parameters['type'] !== 'object' || inspector.validateSchema(parameters) !== true) return 'its schema is no JSON Schema of an object';
  const text = plain(typeof description === 'string' ? description : '').trim();
  const cut = text.length <= mcpBounds.description ? text : `${text.slice(0, mcpBounds.description - 1).toWellFormed()}…`;
  return { server, name, description: cut, parameters: JSON.parse(json) as McpToolRecord['parameters'] };
}

/** A foreign schema is only inspected, not compiled. */
const inspector = new Ajv({ strict: false, logger: false, validateFormats: false });

/** Returns the parts of an answer as text; other parts are named. */
function textOf({ content, structured }: { readonly content: readonly unknown[]; readonly structured: unknown }): string {
  const parts = content.map(partText);
  if (parts.length === 0 && structured !== undefined) parts.push(JSON.stringify(structured));
  const text = plain(parts.join('\n')).trimEnd();
  return text === '' ? '[the answer is empty]' : text;
}

interface Part extends Readonly<Partial<Record<'type' | 'text' | 'data' | 'mimeType' | 'uri', unknown>>> {
  readonly resource?: Part;
}

function partText(one: unknown): string {
  const { type, text, data, mimeType, uri, resource } = (one ?? {}) as Part;
  if (typeof text === 'string') return text;
  if (typeof resource?.text === 'string') return `${String(resource.uri)}:\n${resource.text}`;
  const what = [type, mimeType ?? resource?.mimeType, uri ?? resource?.uri].filter((word) => typeof word === 'string').join(' ');
  const size = typeof data === 'string' ? `, ${Math.floor((data.length * 3) / 4)} bytes` : '';
  return `[${what || 'a part'}${size}, not text]`;
}
