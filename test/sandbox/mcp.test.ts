import { Client, StreamableHTTPClientTransport } from '@modelcontextprotocol/client';
import { afterAll, describe, expect, test } from 'vitest';
import { mcpTools } from '@agentfleet/protocol/keeper';
import type { Sandbox } from '../../hack/sandbox/index.ts';
import { shell, useNamespace } from './harness.ts';

const bench = useNamespace('mcp');
const token = ['ghp', '0123456789abcdefghijABCDEFGHIJ456789'].join('_');
let sandbox: Sandbox;
let client: Client | undefined;
bench.share(async (opened) => {
  sandbox = opened;
  await client?.close();
  client = new Client({ name: 'test', version: '1' }, { versionNegotiation: { mode: 'auto' } });
  const headers = { authorization: `Bearer ${await sandbox.token()}`, 'agentfleet-epoch': '1' };
  await client.connect(new StreamableHTTPClientTransport(new URL('/mcp', sandbox.url), { requestInit: { headers } }));
});
afterAll(() => client?.close());

async function call(name: keyof typeof mcpTools, args: Readonly<Record<string, unknown>>): Promise<Record<string, unknown>> {
  const { structuredContent, isError } = await client!.callTool({ name, arguments: args });
  return { ...(structuredContent as object), ...(isError === true && { isError }) };
}

describe('a harness of another maker drives a sandbox by MCP', () => {
  test('it finds the tools', async () => {
    expect((await client!.listTools()).tools.map(({ name }) => name)).toEqual(Object.keys(mcpTools));
  });

  test('it writes, runs, changes code by structure, and restores', async () => {
    const path = '/workspace/a.py';
    const { id } = await call('snapshot', { label: 'empty' });
    expect(await call('write', { path, content: 'def f(x):\n    return old(x)\n\n\nold = str\nprint(f(7))\n' })).toMatchObject({
      syntax: 'Checked',
    });
    expect(await call('exec_code', { argv: ['python3', path] })).toMatchObject({ running: false, stdout: '7\n', end: { exitCode: 0 } });
    expect(await call('ast_edit', { path, pattern: 'return old($A)', rewrite: 'return old($A + 1)' })).toMatchObject({
      replaced: 1,
      syntax: 'Checked',
    });
    expect(await call('shell', { command: `python3 a.py`, cwd: '/workspace' })).toMatchObject({ stdout: '8\n' });
    expect(await call('restore', { id })).toMatchObject({ verified: true });
    expect(await call('list', { path: '/workspace' })).toMatchObject({ entries: [] });
    expect((await sandbox.client.audit()).ok).toBe(true);
  });

  test.each([
    ['a.py', 'def f(:\n'],
    ['a.js', 'const f = (x => {\n'],
    ['a.ts', 'const x: = 1;\n'],
    ['a.tsx', 'const a = <b>{</b>;\n'],
    ['a.sh', 'if true; then\n'],
    ['a.go', 'package a\n\nfunc F( { return }\n'],
    ['A.java', 'class A { int f( { return 1; } }\n'],
    ['a.rs', 'fn f(x: &str -> u8 { 1 }\n'],
    ['a.json', '{"a": }\n'],
  ])('the image has what %s is checked with', async (name, content) => {
    expect(await call('write', { path: `/workspace/${name}`, content })).toMatchObject({
      isError: true,
      error: { code: 'AF_EDIT_SYNTAX' },
    });
  });

  test('it never sees a secret, which stays in the sandbox', async () => {
    await call('write', { path: '/workspace/.env', content: `GITHUB_TOKEN=${token}\n` });
    expect(await call('shell', { command: 'cat /workspace/.env; wc -c < /workspace/.env' })).toMatchObject({
      stdout: `GITHUB_TOKEN=[REDACTED:Token]\n${14 + token.length}\n`,
      redacted: { Token: 1 },
    });
    expect(await call('read', { path: '/workspace/.env' })).toMatchObject({ text: 'GITHUB_TOKEN=[REDACTED:Token]\n' });
  });

  test('user code in the sandbox has no token for it', async () => {
    const { stdout } = await shell(
      sandbox,
      `python3 -c "
import urllib.request, urllib.error
try: urllib.request.urlopen(urllib.request.Request('http://127.0.0.1:7070/mcp', data=b'{}', method='POST'))
except urllib.error.HTTPError as e: print(e.code)
"`,
    );
    expect(stdout).toBe('401\n');
  });
});
