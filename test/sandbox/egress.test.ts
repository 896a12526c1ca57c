import { createServer } from 'node:https';
import type { AddressInfo } from 'node:net';
import { networkInterfaces } from 'node:os';
import { silentLog, systemClock } from '@agentfleet/kube';
import { KeeperClient, newExecId, type ExecResult } from '@agentfleet/keeper/client';
import { createDialer, createEgress } from '@agentfleet/agent/egress';
import type { AgentTaskSpec } from '@agentfleet/protocol/api';
import { keeperPort } from '@agentfleet/protocol/keeper';
import { afterAll, beforeAll, describe, expect, test } from 'vitest';
import { retryWhileUnavailable } from '../../agent-image/src/base/failure.ts';
import { certificate } from '../../agent-image/src/egress/testing/sockets.ts';
import type { Sandbox } from '../../hack/sandbox/index.ts';
import { AttemptBed } from './attemptBed.ts';
import { shell, useNamespace } from './harness.ts';

const bench = useNamespace('egress');
const host = 'registry.example';
const own =
  Object.values(networkInterfaces())
    .flat()
    .find((one) => one?.family === 'IPv4' && !one.internal)?.address ?? '';
/** Resolves the names of this test like the worker. */
const resolve = (name: string): Promise<readonly string[]> =>
  name.endsWith('.example') ? Promise.resolve([own]) : Promise.reject(new Error(`${name} is not known here`));

let sandbox: Sandbox;
let bed: AttemptBed;
let port = 0;
let ca = '';
const server = { close: (): void => undefined };

beforeAll(async () => {
  const pair = await certificate([host]);
  ca = pair.cert;
  const listening = createServer(pair, (request, response) => response.end(`served ${request.url ?? ''}\n`));
  await new Promise<void>((done) => listening.listen(0, '0.0.0.0', done));
  port = (listening.address() as AddressInfo).port;
  server.close = () => void listening.close();
  [sandbox, bed] = await Promise.all([bench.open(), AttemptBed.open(undefined, { resolve })]);
  await sandbox.client.writeFile('/home/agent/ca.crt', ca);
});
afterAll(async () => {
  server.close();
  await bed[Symbol.asyncDispose]();
});

/** Past the port-forward where the machine reaches the pods: kubectl exits when a connection is cut. */
async function direct(sandbox: Sandbox): Promise<KeeperClient> {
  const { name, namespace, client } = sandbox;
  const { status } = await bench.kubectl.json<{ status: { podIP: string } }>(['-n', namespace, 'get', 'pod', name]);
  const baseUrl = `http://${status.podIP}:${keeperPort}`;
  const reached = await fetch(`${baseUrl}/healthz`, { signal: AbortSignal.timeout(3000) }).then(
    ({ ok }) => ok,
    () => false,
  );
  if (!reached) return client;
  const own = await sandbox.token();
  return new KeeperClient({ baseUrl, epoch: 1, token: () => own });
}

const get = (url: string, ...options: readonly string[]): string =>
  `curl -sS --max-time 10 --cacert /home/agent/ca.crt ${options.join(' ')} ${url}`;

describe('with a way out', () => {
  const notes: Readonly<Record<string, unknown>>[] = [];
  let run: (command: string) => Promise<ExecResult>;
  let close = (): Promise<void> => Promise.resolve();

  beforeAll(async () => {
    const keeper = await direct(sandbox);
    const egress = await createEgress(createDialer({ clock: systemClock, env: {}, resolve }))({
      keeper,
      reach: {
        mode: 'Allowed',
        hosts: [
          { host, port },
          { host: 'closed.example', port },
        ],
        rules: { open: [{ host, port }] },
      },
      note: (data) => Promise.resolve(void notes.push(data)),
      clock: systemClock,
      log: silentLog,
      signal: new AbortController().signal,
    });
    close = () => egress.close();
    run = (command) => {
      const request = { execId: newExecId(), tool: 'Shell' as const, command, env: { ...egress.environment } };
      return retryWhileUnavailable(() => keeper.run(request), { clock: systemClock, signal: new AbortController().signal });
    };
  });

  test('a command reaches a listed host, whose certificate it checks itself', async () => {
    expect(await run(get(`https://${host}:${port}/a`))).toMatchObject({ stdout: 'served /a\n', end: { exitCode: 0 } });
    expect((await run(`curl -sS https://${host}:${port}/a`)).stderr).toMatch(/certificate/i);
  });

  test('many at once', async () => {
    const all = `for n in $(seq 24); do ${get(`https://${host}:${port}/$n`)} & done; wait`;
    const { stdout } = await run(all);
    expect(stdout.trim().split('\n').sort()).toEqual(Array.from({ length: 24 }, (_, n) => `served /${n + 1}`).sort());
  });

  test.each([
    ['a host that the pool does not list and that leads into this network', () => get(`https://closed.example:${port}/`)],
    ['another host', () => get(`https://other.example:${port}/`)],
    ['another port', () => get(`https://${host}:1/`)],
    ['the address of a listed host', () => get(`https://${own}:${port}/`)],
    ['the API server', () => get('https://kubernetes.default.svc:443/')],
  ])('%s is refused by the proxy', async (_name, command) => {
    const { stderr, end } = await run(command());
    expect([end.exitCode, stderr]).toEqual([56, expect.stringMatching(/403/)]);
  });

  test('a listed host is no way to another one that shares its address', async () => {
    const command = get(`https://other.example:${port}/`, `--connect-to other.example:${port}:${host}:${port}`);
    const { stdout, end } = await run(command);
    expect([stdout, end.exitCode === 0]).toEqual(['', false]);
  });

  test('there is no other way out: the wall is as it was', async () => {
    const direct = await run(`${get(`https://${own}:${port}/`, "--noproxy '*'")} -k --connect-timeout 3`);
    expect([direct.stdout, direct.end.exitCode === 0]).toEqual(['', false]);
    expect((await sandbox.client.info()).network.state).toBe('Enforced');
  });

  test('after its end connections are closed, and the requests are reported', async () => {
    await close();
    const { end } = await run(get(`https://${host}:${port}/`));
    expect(end.exitCode).not.toBe(0);
    const [note] = notes as unknown as readonly { readonly requests: readonly { readonly host: string; readonly decision: string; readonly requests: number }[] }[];
    const decisions = note?.requests.map((one) => `${one.host} ${one.decision}`);
    expect(decisions).toEqual(expect.arrayContaining([`${host} Allowed`, 'other.example NotListed', `${host} OtherName`, `${own} NotListed`]));
    const events: string[] = [];
    for await (const { type } of sandbox.client.events()) events.push(type);
    expect(events).toContain('EgressOpened');
    expect(events.filter((type) => type === 'EgressOpened').length).toBe(events.filter((type) => type === 'EgressClosed').length);
  }); // prettier-ignore
});

/** Ends with 0 when the proxy answers. */
const ask = `import socket, sys

s = socket.create_connection(('127.0.0.1', 3128), 5)
s.sendall(b'GET / HTTP/1.1\\r\\n\\r\\n')
sys.exit(0 if s.recv(1) else 1)
`;

test('a set-up step that may reach the registries does, with their environment; checks of the same task do not', async () => {
  const files = [
    { path: 'ca.crt', content: ca, mode: 0o644 },
    { path: 'ask.py', content: ask, mode: 0o644 },
  ];
  const url = `https://${host}:${port}/package`;
  const setup = [
    { name: 'install', command: ['sh', '-c', 'curl -sS --cacert ca.crt "$REGISTRY_URL" -o package.txt'], network: 'Registries' },
    { name: 'offline', command: ['sh', '-c', 'test -z "$HTTPS_PROXY" && ! python3 ask.py'] },
  ];
  const checks = [{ name: 'there', command: ['grep', '-q', 'served /package', 'package.txt'], expect: 'Pass' }];
  const spec = { goal: 'Nothing is to be done.', workspace: { type: 'Inline', inline: { files } }, setup, checks };
  const own = await bench.open();
  const egress = { registries: [{ host, port }], environment: { REGISTRY_URL: url } };
  const attempt = bed.begin(own, { spec: spec as unknown as Partial<AgentTaskSpec>, pool: { egress } });
  expect(await bed.engine.run(attempt.context)).toMatchObject({ result: 'Succeeded', reason: 'AlreadyHolds' });
  expect((await shell(own, 'cat package.txt', { env: {} })).stdout).toBe('served /package\n');
  const noted: unknown[] = [];
  for await (const { type, body } of own.clientWith({}).events())
    if (type === 'Noted' && body['kind'] === 'Egress') noted.push(body['data']);
  expect(noted).toMatchObject([{ attempt: 1, mode: 'Registries', requests: [{ host, port, decision: 'Allowed', requests: 1 }] }]);
});
