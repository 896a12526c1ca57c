import { createHash } from 'node:crypto';
import { fileURLToPath } from 'node:url';
import { Client, StreamableHTTPClientTransport } from '@modelcontextprotocol/client';
import { StdioClientTransport } from '@modelcontextprotocol/client/stdio';
import { systemClock } from '@agentfleet/kube';
import { afterEach, beforeEach, describe, expect, test } from 'vitest';
import { run } from './run.ts';
import { ApiServer } from './testing/apiServer.ts';

/** The MCP server of the fleet, asked by the real client of the protocol. */
let api: ApiServer;
beforeEach(async () => {
  api = await ApiServer.start();
});
afterEach(() => api[Symbol.asyncDispose]());

const act = `sha256:${'a'.repeat(64)}`;
const pending = { action: act, summary: 'git push to main', expires: '2030-01-01T01:00:00Z' };
const waits = { phase: 'AwaitingApproval', finished: 'false', run: { pendingApproval: pending, patch: '--- a/x\n+++ b/x\n' } };

async function say(
  client: Client,
  name: string,
  args: Readonly<Record<string, unknown>> = {},
): Promise<readonly [text: string, isError: boolean]> {
  const { content, isError } = await client.callTool({ name, arguments: { ...args } });
  const [first] = content as readonly { readonly text?: string }[];
  return [first?.text ?? '', isError === true];
}

interface Served {
  readonly url: string;
  readonly authorization: string;
  readonly ended: Promise<number>;
  readonly stop: () => void;
}

/** Runs `fleet mcp --http 0` until it is stopped. */
async function serve(...args: readonly string[]): Promise<Served> {
  const stop = new AbortController();
  const lines: string[] = [];
  const started = Promise.withResolvers<void>();
  const out = (text: string): void => {
    lines.push(text.trim());
    if (lines.length === 2) started.resolve();
  };
  const world = { env: { KUBECONFIG: api.kubeconfig }, clock: systemClock, random: Math.random, terminal: false, signal: stop.signal };
  const ended = run(['mcp', '--http', '0', ...args], { ...world, out, err: out });
  await Promise.race([started.promise, ended]);
  const [url = '', header = ''] = lines;
  return { url, authorization: header.replace('Authorization: ', ''), ended, stop: () => stop.abort() };
}

async function connected({ url, authorization }: Served): Promise<Client> {
  const client = new Client({ name: 'test', version: '1' });
  await client.connect(new StreamableHTTPClientTransport(new URL(url), { requestInit: { headers: { authorization } } }));
  return client;
}

describe('over HTTP', () => {
  test('submits, lists, shows, decides and cancels in the own name', async () => {
    const served = await serve();
    const client = await connected(served);
    const { tools } = await client.listTools();
    expect(tools.map(({ name }) => name)).toEqual(['submit', 'list', 'status', 'diff', 'approve', 'reject', 'answer', 'cancel']);
    const given = { goal: 'Fix it.', checks: ['npm test'], files: { 'a.js': 'x' }, pool: 'platform/coding', name: 'fix', review: true };
    expect(await say(client, 'submit', given)).toEqual([expect.stringContaining('"task": "fix"'), false]);
    expect(api.tasks.get('team/fix')).toMatchObject({
      spec: {
        goal: 'Fix it.',
        poolRef: { namespace: 'platform', name: 'coding' },
        checks: [
          { name: 'check-1', command: ['sh', '-c', 'npm test'] },
          { name: 'review', type: 'Review' },
        ],
        workspace: { type: 'Inline', inline: { files: [{ path: 'a.js', content: 'x' }] } },
      },
    });
    api.addTask('asks', { status: waits });
    expect((await say(client, 'list'))[0]).toContain('"waits": "git push to main"');
    expect((await say(client, 'status', { task: 'asks' }))[0]).toContain('"phase": "AwaitingApproval"');
    expect(await say(client, 'diff', { task: 'asks' })).toEqual(['--- a/x\n+++ b/x\n', false]);
    api.operator = () => ({ state: 'Done' });
    expect((await say(client, 'approve', { task: 'asks', reason: 'seen' }))[0]).toContain('"by": "ann"');
    expect([...api.orders.values()][0]).toMatchObject({ spec: { type: 'Approve', action: act, requester: 'ann', reason: 'seen' } });
    await say(client, 'cancel', { task: 'asks' });
    expect(api.seen.at(-1)).toMatchObject({ method: 'PATCH', body: { spec: { cancel: 'Rollback' } } });
    await client.close();
    served.stop();
    expect(await served.ended).toBe(0);
  });

  test.each([
    ['is shown whole', '{"acts":[{"command":"echo; rm -r legacy"}]}', true],
    ['is not shown where something else lies there', '{"acts":[]}', false],
  ])('an act that waits %s', async (_, stored, shown) => {
    const served = await serve();
    const client = await connected(served);
    const whole = '{"acts":[{"command":"echo; rm -r legacy"}]}';
    const sha256 = createHash('sha256').update(whole).digest('hex');
    const artifacts = [{ name: 'act-1.json', uri: 'pvc://a/act-1.json', sha256, bytes: whole.length }];
    const run = { ...waits.run, pendingApproval: { ...pending, action: `sha256:${sha256}` }, artifacts };
    api.addTask('asks', { status: { ...waits, run } });
    const path = '/apis/results.agentfleet.dev/v1alpha1/namespaces/team/agenttasks/asks/artifacts';
    api.results.set(path, JSON.stringify({ items: artifacts }));
    api.results.set(`${path}/act-1.json`, stored);
    const { act: told } = JSON.parse((await say(client, 'status', { task: 'asks' }))[0]) as { readonly act?: string };
    expect(told).toBe(shown ? whole : undefined);
    await client.close();
    served.stop();
    await served.ended;
  });

  test('reports what is wrong as an answer of the tool, with its cure', async () => {
    const served = await serve();
    const client = await connected(served);
    api.addTask('works', { status: { phase: 'Running', finished: 'false' } });
    const cases: readonly (readonly [string, object, RegExp])[] = [
      ['submit', { goal: 'x', checks: [] }, /checks must be a list of commands; give at least one/],
      ['submit', { goal: 'x', checks: ['true'] }, /either files or git/],
      ['status', {}, /task is missing/],
      ['status', { task: 'nobody' }, /AF_CLIENT_NOT_FOUND.*correct name and namespace/],
      ['approve', { task: 'works' }, /AF_CLIENT_NOTHING_WAITS.*pendingApproval/],
      ['answer', { task: 'works', text: 'x' }, /AF_CLIENT_NOTHING_WAITS/],
    ];
    for (const [name, args, words] of cases) expect(await say(client, name, { ...args })).toEqual([expect.stringMatching(words), true]);
    await client.close();
    served.stop();
  });

  test('lets no one in without the token, or from a page', async () => {
    const served = await serve('--tools', 'list,status');
    const post = async (headers: Readonly<Record<string, string>>): Promise<number> =>
      (await fetch(served.url, { method: 'POST', headers })).status;
    expect(await post({})).toBe(401);
    expect(await post({ authorization: 'Bearer x' })).toBe(401);
    expect(await post({ authorization: served.authorization, origin: 'https://evil.example' })).toBe(403);
    const client = await connected(served);
    expect((await client.listTools()).tools.map(({ name }) => name)).toEqual(['list', 'status']);
    await expect(say(client, 'cancel', { task: 'x' })).rejects.toThrow('there is no tool cancel');
    await client.close();
    served.stop();
    const wrong = await serve('--tools', 'all');
    expect([await wrong.ended, wrong.url]).toEqual([1, expect.stringContaining('there is no tool all; the tools are submit')]);
  });
});

test('over standard input and output, as a program starts it', async () => {
  api.addTask('one', { status: { phase: 'Running', finished: 'false' } });
  const main = fileURLToPath(new URL('main.ts', import.meta.url));
  const args = ['--disable-warning=ExperimentalWarning', main, 'mcp', '-n', 'team'];
  const transport = new StdioClientTransport({ command: process.execPath, args, env: { KUBECONFIG: api.kubeconfig } });
  const client = new Client({ name: 'test', version: '1' });
  await client.connect(transport);
  expect((await say(client, 'list'))[0]).toContain('"task": "one"');
  await client.close();
});
