import type { ChildProcess } from 'node:child_process';
import { once } from 'node:events';
import { mkdtemp, rm, writeFile } from 'node:fs/promises';
import { tmpdir } from 'node:os';
import { join } from 'node:path';
import { afterAll, afterEach, describe, expect, it } from 'vitest';
import { systemClock } from '@agentfleet/kube';
import { createDialer } from '../egress/index.ts';
import { fitting, mcpBounds, McpServers, serversOf, type McpListing } from './mcp.ts';
import { toolSet } from './registry.ts';
import type { Observation } from './tool.ts';
import { openStage } from './testing/play.ts';
import { startMcpServer } from './testing/startMcpServer.ts';
import type { ToolBed } from './testing/bed.ts';

const schema = { type: 'object', properties: {} };
const offered = { name: 'get', description: 'Gets.', inputSchema: schema };

describe('tools that a server lists', () => {
  it.each<readonly [string, unknown, RegExp | null]>([
    ['a good one', offered, null],
    [
      'a schema with its dialect',
      { ...offered, inputSchema: { ...schema, $schema: 'https://json-schema.org/draft/2020-12/schema' } },
      null,
    ],
    ['nothing', null, /^tool undefined of MCP server docs is left out: with its server a name has 64 characters/],
    ['a name with a blank', { ...offered, name: 'get it' }, /a name has 64 characters at most, of letters, digits, - and _/],
    ['a long name', { ...offered, name: 'x'.repeat(59) }, /a name has 64 characters/],
    ['no schema', { name: 'get' }, /it has no schema$/],
    ['a schema of a list', { ...offered, inputSchema: { type: 'array' } }, /no JSON Schema of an object$/],
    ['a schema that is none', { ...offered, inputSchema: { ...schema, required: 'all' } }, /no JSON Schema of an object$/],
    ['a large schema', { ...offered, inputSchema: { ...schema, title: 'x'.repeat(9000) } }, /more than 8192 bytes$/],
  ])('%s', (_, tool, warning) => {
    const { tools, warnings } = fitting('docs', [tool], []);
    expect(tools).toHaveLength(warning === null ? 1 : 0);
    expect(tools[0]?.parameters).toEqual(warning === null ? schema : undefined);
    if (warning !== null) expect(warnings[0]).toMatch(warning);
  });

  it('are bounded in number and in all, and cleaned', () => {
    const many = Array.from({ length: 40 }, (_, at) => ({ ...offered, name: `t${at}`, description: `\u001b[31m${'d'.repeat(2000)}` }));
    const { tools, warnings } = fitting('docs', [...many, offered, { ...many[0] }], []);
    expect(tools).toHaveLength(mcpBounds.perServer);
    expect(tools[0]?.description).toBe(`${'d'.repeat(mcpBounds.description - 1)}…`);
    expect(warnings[0]).toBe('tool t32 of MCP server docs is left out: a server may add 32 tools');
    const large = Array.from({ length: 9 }, (_, at) => ({ ...offered, name: `t${at}`, inputSchema: { ...schema, title: 'x'.repeat(8000) } }));
    expect(fitting('docs', large, []).warnings).toEqual(['tool t8 of MCP server docs is left out: all descriptions and schemas may have 65536 bytes']);
    const flood = Array.from({ length: 200_000 }, (_, at) => ({ ...offered, name: `t${at}`, inputSchema: { ...schema, title: 'x'.repeat(8000) } }));
    expect(fitting('docs', flood, []).warnings.at(-1)).toBe('and 1002 more of MCP server docs');
    expect(fitting('docs', [offered, offered], []).warnings).toEqual(['tool get of MCP server docs is left out: the server lists its name twice']);
  }); // prettier-ignore
});

describe('servers of a task', () => {
  const listed = { name: 'docs', url: 'https://mcp.corp/mcp', headers: [], timeoutSeconds: 30, readOnly: true };
  const allowedHosts = [{ host: 'own.example', port: 443 }];
  const of = (server: object): ReturnType<typeof serversOf> => {
    const pool = { tools: { deny: [], timeouts: {}, mcpServers: [listed] }, allowedHosts, egress: { registries: [], environment: {} } };
    return serversOf({ pool, task: { spec: { tools: { mcpServers: [{ required: false, ...server }] } } } } as never);
  };

  it.each<readonly [string, object, object | null]>([
    ['one of the pool', { name: 'docs' }, { url: listed.url, timeoutSeconds: 30, readOnly: true }],
    ['one at an allowed host', { name: 'own', url: 'https://own.example/mcp' }, { timeoutSeconds: 60, readOnly: false, headers: [] }],
    ['one at another port of it', { name: 'own', url: 'https://own.example:8443/mcp' }, null],
    ['one of the pool at another address', { name: 'docs', url: 'https://own.example/mcp' }, null],
    ['one that nobody lists', { name: 'other' }, null],
  ])('%s', (_, server, expected) => {
    const { servers, refused } = of(server);
    expect(refused).toHaveLength(expected === null ? 1 : 0);
    if (expected !== null) expect(servers[0]).toMatchObject(expected);
  });

  it('may lead to private addresses where the pool lists host and port', () => {
    expect(of({ name: 'docs' }).servers[0]?.rules.open).toEqual([...allowedHosts, { host: 'mcp.corp', port: 443 }]);
    expect(of({ name: 'own', url: 'https://own.example/mcp' }).servers[0]?.rules.open).toEqual(allowedHosts);
  });
});

const { binary, begin } = await openStage();

describe.skipIf(binary === '')('an MCP server in a separate process', () => {
  const processes: ChildProcess[] = [];
  const opened: McpServers[] = [];
  const folder = mkdtemp(join(tmpdir(), 'mcp-'));
  afterEach(async () => {
    for (const one of opened.splice(0)) await one.close();
    for (const one of processes.splice(0)) one.kill('SIGKILL');
  });
  afterAll(async () => rm(await folder, { recursive: true }));

  const start = async (authorization?: string): ReturnType<typeof startMcpServer> => {
    const started = await startMcpServer(authorization);
    processes.push(started.process);
    return started;
  };

  interface Use {
    readonly listing: McpListing;
    readonly call: (name: string, args?: object) => Promise<Observation>;
    readonly noted: () => Promise<readonly { readonly kind: string; readonly data: Readonly<Record<string, unknown>> }[]>;
    readonly bed: ToolBed;
    readonly servers: McpServers;
  }

  const use = async (port: number, more: object = {}, { credentials = [] as readonly object[], required = false } = {}): Promise<Use> => {
    const server = { name: 'docs', url: `http://127.0.0.1:${port}/mcp`, headers: [], timeoutSeconds: 2, readOnly: false, ...more };
    const bed = await begin({
      spec: { tools: { mcpServers: [{ name: 'docs', required }], deny: ['docs__picture'] } },
      pool: { tools: { deny: [], timeouts: {}, mcpServers: [server] }, credentials: credentials as never },
      engine: { web: { openDialer: createDialer({ clock: systemClock, env: {} }) } },
    });
    const servers = new McpServers(bed.scope);
    opened.push(servers);
    const listing = await servers.list();
    const tools = toolSet(servers.tools(listing));
    const call = (name: string, args: object = {}): Promise<Observation> => {
      const { tool, args: read } = tools.resolve(`docs__${name}`, JSON.stringify(args));
      return tool.run(read, bed.context());
    };
    const noted: Use['noted'] = async () => {
      const found: { kind: string; data: Record<string, unknown> }[] = [];
      await bed.scope.session.events(({ type, body }) => (type === 'Noted' ? found.push(body as never) : 0));
      return found;
    };
    return { listing, call, noted, bed, servers };
  };

  it('lists its tools, and executes calls, between an intent and an end', async () => {
    const { listing, call, noted, servers } = await use((await start()).port);
    expect(listing.tools.map(({ name }) => name)).toEqual(['echo', 'count', 'authority', 'fail', 'refuse', 'crash', 'slow', 'die', 'big']);
    expect(listing.warnings).toEqual(['tool bad of MCP server docs is left out: its schema is no JSON Schema of an object']);
    const [echo] = servers.tools(listing);
    // The server claims that it only reads, which is ignored.
    expect(echo?.definition).toMatchObject({ name: 'docs__echo', description: 'Does echo.', risk: 'Execute' });
    expect(await echo?.propose?.({ words: 'a' }, {} as never)).toEqual({ rewrites: [], acts: [], outside: ['mcp docs__echo {"words":"a"}'] });
    expect(await call('echo', { words: 'yes' })).toEqual({ ok: true, changed: false, text: 'said: yes!' });
    expect((await noted()).map(({ kind }) => kind).slice(-4)).toEqual(['EffectPlanned', 'Intent', 'EffectEnded', 'McpCalled']);
    expect(await call('fail')).toMatchObject({ ok: false, text: 'no such record\n[MCP server docs reports an error]' });
    expect((await call('refuse')).text).toBe('[MCP server docs: it answers with the error -32602: words: missing; the call was not carried out]');
  }); // prettier-ignore

  it('that is slow, answers too much, fails or dies in the middle of a call is reported with its cause, and asked again by the next call', async () => {
    const { port } = await start();
    const { call, noted } = await use(port);
    const unknown = 'whether the call was carried out is not known: look before you repeat it]';
    expect((await call('slow')).text).toBe(`[MCP server docs: there was no answer within 2 s; ${unknown}`);
    expect((await call('big')).text).toBe(`[MCP server docs: the answer has more than 4194304 bytes; ${unknown}`);
    // An error of the server's own comes from a handler that has begun.
    expect((await call('crash')).text).toMatch(
      /^\[MCP server docs: it answers with the error -32603: .*; whether the call was carried out is not known/,
    );
    expect((await call('count')).text).toBe('call 2');
    expect((await call('echo', { words: 'on' })).text).toBe('said: on!');
    const died = await call('die');
    expect(died).toMatchObject({ ok: false, changed: false });
    expect(died.text).toMatch(/^\[MCP server docs: .+; whether the call was carried out is not known: /);
    const ends = (await noted()).filter(({ kind }) => kind === 'EffectEnded').map(({ data }) => data['outcome']);
    expect(ends).toEqual(['Unknown', 'Unknown', 'Unknown', 'Done', 'Done', 'Unknown']);
    expect((await call('echo')).text).toMatch(/^\[MCP server docs: connect ECONNREFUSED .*; the call was not carried out\]$/);
  });

  it('with a session gets the end of it', async () => {
    const { port } = await start();
    const sessions = async (): Promise<string> => (await fetch(`http://127.0.0.1:${port}/sessions`)).text();
    const { call, servers } = await use(port, { url: `http://127.0.0.1:${port}/session` });
    expect((await call('echo', { words: 'a' })).text).toBe('said: a!');
    expect(await sessions()).toBe('1');
    await servers.close();
    expect(await sessions()).toBe('0');
  });

  it('gets the headers of the pool, and is left out without them', async () => {
    const file = join(await folder, 'docs');
    await writeFile(file, 'a-long-secret\n');
    const { port } = await start('Bearer a-long-secret');
    const headers = [{ name: 'Authorization', credential: 'docs', prefix: 'Bearer ' }];
    const credentials = [{ name: 'docs', hosts: ['127.0.0.1'], file }];
    const { listing, call } = await use(port, { headers }, { credentials });
    expect(listing.tools).toHaveLength(9);
    expect((await call('authority')).text).toBe('it is "Bearer [REDACTED:Credential]"');
    expect((await use(port)).listing.warnings).toEqual(['MCP server docs is left out: it answers with HTTP status 403']);
    const elsewhere = [{ name: 'docs', hosts: ['other.example'], file }];
    expect((await use(port, { headers }, { credentials: elsewhere })).listing.warnings[0]).toMatch(/credential docs of the pool is not for 127\.0\.0\.1$/);
  }); // prettier-ignore

  it('that is away is left out, and ends the attempt where the task requires it', async () => {
    const { port, process } = await start();
    process.kill('SIGKILL');
    await once(process, 'exit');
    expect((await use(port)).listing.warnings[0]).toMatch(/^MCP server docs is left out: connect ECONNREFUSED/);
    await expect(use(port, {}, { required: true })).rejects.toMatchObject({
      failureClass: 'Infrastructure',
      reason: 'McpServerUnavailable',
    });
  });

  it('passes no gate where the pool knows that it only reads', async () => {
    const { listing, servers, call, noted } = await use((await start()).port, { readOnly: true });
    const [echo] = servers.tools(listing);
    expect(echo?.definition.risk).toBe('Read');
    expect(echo).not.toHaveProperty('propose');
    expect((await call('echo', { words: 'x' })).ok).toBe(true);
    expect((await noted()).map(({ kind }) => kind).slice(-2)).toEqual(['Intent', 'McpCalled']);
  });
});
