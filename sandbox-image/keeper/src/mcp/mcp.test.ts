import { readFile, rm } from 'node:fs/promises';
import { request } from 'node:http';
import { dirname, join } from 'node:path';
import { Client, StreamableHTTPClientTransport } from '@modelcontextprotocol/client';
import { afterAll, afterEach, beforeEach, describe, expect, it } from 'vitest';
import { mcpTools, type AuditRecord } from '@agentfleet/protocol/keeper';
import { buildRunner, podUid, RealRunner, startHarness, waitUntil, type Harness } from '../testing/index.ts';

const token = ['ghp', '0123456789abcdefghijABCDEFGHIJ456789'].join('_');
const built = await buildRunner();
if ('why' in built) console.error(`SKIPPED: the Go runner cannot be used here:\n${built.why}`);

let h: Harness;
let clients: Client[] = [];

afterEach(async () => {
  await Promise.all(clients.map((client) => client.close()));
  clients = [];
  await h[Symbol.asyncDispose]();
});

const headers = async (epoch: number | null = 1, more: Readonly<Record<string, string>> = {}) => ({
  authorization: `Bearer ${await h.signer.token(podUid)}`,
  ...(epoch === null ? {} : { 'agentfleet-epoch': String(epoch) }),
  ...more,
});

async function connect(epoch: number | null = 1, mode: 'auto' | 'legacy' = 'auto'): Promise<Client> {
  const client = new Client({ name: 'test', version: '1' }, { versionNegotiation: { mode } });
  const requestInit = { headers: await headers(epoch) };
  await client.connect(new StreamableHTTPClientTransport(new URL('/mcp', h.running.address), { requestInit }));
  clients.push(client);
  return client;
}

async function call(client: Client, name: string, args: Readonly<Record<string, unknown>> = {}): Promise<Record<string, unknown>> {
  const { structuredContent, isError, content } = await client.callTool({ name, arguments: args });
  expect(JSON.parse((content as unknown as [{ text: string }])[0].text)).toEqual(structuredContent);
  return { ...(structuredContent as object), ...(isError === true ? { isError } : {}) };
}

const error = (code: string, words: string | RegExp = '') => ({
  isError: true,
  error: { code, message: expect.stringMatching(words) as string, cure: expect.stringMatching(/\w/) as string },
});

const status = (method: string, sent: Readonly<Record<string, string>>, body = ''): Promise<number> =>
  new Promise((resolve, reject) => {
    const { hostname, port } = new URL(h.running.address);
    const asked = request({ hostname, port, path: '/mcp', method, headers: sent }, (answer) => {
      answer.resume();
      resolve(answer.statusCode ?? 0);
    });
    asked.once('error', reject).end(body);
  });

describe('/mcp', () => {
  beforeEach(async () => {
    h = await startHarness();
  });

  it.each(['auto', 'legacy'] as const)('lists its tools, their schemas and their effects (%s)', async (mode) => {
    const client = await connect(1, mode);
    expect(client.getServerVersion()).toMatchObject({ name: 'agentfleet-sandbox' });
    const { tools } = await client.listTools();
    expect(tools.map(({ name }) => name)).toEqual(Object.keys(mcpTools));
    for (const { inputSchema, annotations } of tools) {
      expect(inputSchema).toMatchObject({ type: 'object', additionalProperties: false });
      expect(annotations?.readOnlyHint).toBe(annotations?.destructiveHint === false && annotations.idempotentHint);
    }
    const reading = tools.filter(({ annotations }) => annotations?.readOnlyHint === true).map(({ name }) => name);
    expect(reading).toEqual(['wait', 'read', 'list', 'search', 'diff']);
  });

  it('edits files by the same rules as the routes', async () => {
    const client = await connect();
    const path = join(h.workspace, 'src/a.py');
    expect(await call(client, 'write', { path, content: 'def f(x):\n    return old(x, 1)\n' })).toMatchObject({
      created: true,
      syntax: 'Checked',
    });
    expect(await call(client, 'write', { path, content: 'def f(:\n' })).toMatchObject(error('AF_EDIT_SYNTAX', /line 1, column/));
    const read = await call(client, 'read', { path, from: 1, to: 1 });
    expect(read).toMatchObject({ text: 'def f(x):\n', lines: 2 });
    const expectedSha256 = read['sha256'];
    expect(await call(client, 'ast_edit', { path, pattern: 'old($A, $$$R)', rewrite: 'new($A)', expectedSha256 })).toMatchObject({
      replaced: 1,
    });
    expect(await call(client, 'str_replace', { path, old: 'f(x)', new: 'g(x)', expectedSha256 })).toMatchObject(error('AF_EDIT_STALE'));
    expect(await call(client, 'str_replace', { path, old: 'f(x)', new: 'g(x)' })).toMatchObject({ line: 1 });
    const diff = '--- a/a.py\n+++ b/a.py\n@@ -2 +2 @@\n-    return new(x)\n+    return newer(x)\n';
    expect(await call(client, 'apply_patch', { path: dirname(path), diff })).toMatchObject({
      applied: true,
      files: [{ op: 'M', syntax: 'Checked' }],
    });
    expect(await readFile(path, 'utf8')).toBe('def g(x):\n    return newer(x)\n');
    expect(await call(client, 'search', { path: h.workspace, regex: 'new\\w+', limit: 5 })).toMatchObject({ matches: [{ line: 2 }] });
    expect(await call(client, 'list', { path: h.workspace, depth: 2 })).toMatchObject({ entries: [{ path: 'src' }, { path: 'src/a.py' }] });
    expect(await call(client, 'read', { path: '/etc/passwd' })).toMatchObject(error('AF_PATH_OUTSIDE_ROOTS'));
    const types: string[] = [];
    for await (const { type } of h.client().events()) types.push(type);
    expect(types.filter((type) => type === 'FileWritten' || type === 'PatchApplied')).toHaveLength(5);
  });

  it('shows no secrets, not in refusals either', async () => {
    const client = await connect();
    const path = join(h.workspace, 'f');
    await call(client, 'write', { path, content: `a\n${token}\n` });
    expect(await call(client, 'read', { path })).toMatchObject({ text: 'a\n[REDACTED:Token]\n', redacted: { Token: 1 } });
    const refused = await call(client, 'apply_patch', { path: h.workspace, diff: '--- a/f\n+++ b/f\n@@ -2 +2 @@\n-other\n+new\n' });
    expect(refused).toMatchObject(error('AF_PATCH_REJECTED', /\[REDACTED:Token\]/));
    expect(JSON.stringify(refused)).not.toContain(token.slice(4));
    expect(await readFile(path, 'utf8')).toContain(token);
  });

  it('refuses bad arguments, unknown tools, and a missing or stale epoch', async () => {
    const client = await connect();
    expect(await call(client, 'read', {})).toMatchObject(error('AF_INVALID', /path: this field is required/));
    expect(await call(client, 'read', { path: h.workspace, from: '1' })).toMatchObject(error('AF_INVALID', /from: must be integer/));
    expect(await call(client, 'write', { path: '/x', content: '', more: 1 })).toMatchObject(
      error('AF_INVALID', /more: this field is not known/),
    );
    await expect(client.callTool({ name: 'constructor', arguments: {} })).rejects.toThrow(/there is no tool constructor/);
    const reader = await connect(null);
    expect(await call(reader, 'list', { path: h.workspace })).toMatchObject({ entries: [] });
    expect(await call(reader, 'write', { path: join(h.workspace, 'f'), content: '' })).toMatchObject(error('AF_EPOCH_MISSING'));
    await call(await connect(2), 'write', { path: join(h.workspace, 'f'), content: 'new' });
    expect(await call(client, 'write', { path: join(h.workspace, 'f'), content: 'old' })).toMatchObject(error('AF_EPOCH_STALE'));
    expect(await call(client, 'read', { path: join(h.workspace, 'f') })).toMatchObject(error('AF_EPOCH_STALE'));
  });

  it('wants a token before anything, and no foreign page or name', async () => {
    const json = { 'content-type': 'application/json', accept: 'application/json, text/event-stream' };
    expect(await status('POST', json, '{')).toBe(401);
    expect(await status('POST', { ...json, authorization: 'Bearer x' }, '{')).toBe(401);
    for (const [more, expected] of [
      [{ host: 'evil.example' }, 403],
      [{ host: 'evil.example:7070' }, 403],
      [{ host: '127.0.0.1.evil.example' }, 403],
      [{ host: 'a.svc.evil.example' }, 403],
      [{ origin: 'https://evil.example' }, 403],
      [{ origin: 'null' }, 403],
      [{ host: 'sandbox-1.team.svc.cluster.local:7070' }, 400],
      [{ host: '[fd00::1]:7070', origin: 'http://localhost:5173' }, 400],
    ] as const) {
      expect(await status('POST', { ...(await headers(1, more)), ...json }, '{'), JSON.stringify(more)).toBe(expected);
    }
    expect(await status('GET', await headers())).toBe(405);
    expect(await status('DELETE', await headers())).toBe(405);
  });
});

describe.skipIf('why' in built)('/mcp with the real runner', () => {
  const binary = 'binary' in built ? built.binary : '';
  let runner: RealRunner;

  afterAll(() => rm(dirname(binary), { recursive: true, force: true }));

  beforeEach(async () => {
    h = await startHarness({ env: { AGENTFLEET_RUNNER: binary } });
    runner = new RealRunner(binary, h.linkPath, h.linkKey);
    await waitUntil(async () => (await h.client().info()).ready, 10_000);
  });
  afterEach(() => runner.kill());

  it('runs programs and command lines, waits, snapshots, compares and restores', async () => {
    const client = await connect();
    const at = (name: string): string => join(h.workspace, name);
    expect(await call(client, 'exec_code', { argv: ['printf', '%s|', 'a b', '$HOME'] })).toMatchObject({
      running: false,
      stdout: 'a b|$HOME|',
      end: { exitCode: 0 },
    });
    await call(client, 'write', { path: at('f'), content: 'one\n' });
    const { id } = await call(client, 'snapshot', { label: 'before' });
    const slow = await call(client, 'shell', {
      command: `echo begun; sleep 2; echo two > f; echo ${token.slice(0, 8)}$(printf %s ${token.slice(8)}); exit 3`,
      waitSeconds: 0,
    });
    expect(slow).toMatchObject({ running: true });
    expect(await call(client, 'shell', { command: 'true' })).toMatchObject(error('AF_BUSY'));
    const rest = await call(client, 'wait', { execId: slow['execId'], from: slow['next'] });
    expect(rest).toMatchObject({ running: false, end: { exitCode: 3 }, redacted: { Token: 1 } });
    expect(`${String(slow['stdout'])}${String(rest['stdout'])}`).toBe('begun\n[REDACTED:Token]\n');
    expect(await call(client, 'diff', { from: id })).toMatchObject({
      entries: [{ op: 'M' }],
      unified: expect.stringContaining('+two') as string,
    });
    expect(await call(client, 'restore', { id })).toMatchObject({ verified: true });
    expect(await readFile(at('f'), 'utf8')).toBe('one\n');
    expect(await call(client, 'wait', { execId: slow['execId'] })).toMatchObject({ running: false, stdout: 'begun\n[REDACTED:Token]\n' });
    const types = new Set<AuditRecord['type']>();
    for await (const { type } of h.client().events()) types.add(type);
    expect([...types]).toEqual(expect.arrayContaining(['ExecRequested', 'ExecEnded', 'SnapshotTaken', 'SnapshotRestored', 'FileWritten']));
    expect((await h.client().audit()).ok).toBe(true);
    expect(await h.client().scrub()).toMatchObject({ snapshots: 1, broken: [], damaged: [] });
  });

  it('shows the beginning and the end of long output, and no secret that another caller requested in full', async () => {
    const client = await connect();
    const long = await call(client, 'shell', { command: 'seq 1 100000' });
    expect(String(long['stdout']).length).toBeLessThan(10_100);
    expect(long['stdout']).toMatch(/^1\n2\n[^]*\[… \d+ bytes left out …\][^]*\n100000\n$/);
    const raw = await h.client().run({ execId: '01JABCDEFGHJKMNPQRSTVWXYZ0', tool: 'Shell', command: `echo ${token}`, redaction: 'Raw' });
    expect(raw.stdout).toBe(`${token}\n`);
    expect(await call(client, 'wait', { execId: '01JABCDEFGHJKMNPQRSTVWXYZ0' })).toMatchObject({
      stdout: '[REDACTED:Token]\n',
      redacted: { Token: 1 },
    });
  });
});
