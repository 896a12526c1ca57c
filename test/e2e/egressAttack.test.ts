import { beforeAll, describe, expect, inject, test, vi } from 'vitest';
import { condition, useFleet, type Pod } from './fleet.ts';

const fleet = useFleet('egress');

/** Requests each target from the proxy by CONNECT and by plain HTTP, and fails so that the status shows the answers. */
const ask = `import socket, sys

for at, target in enumerate(sys.argv[1:]):
    for head in ('CONNECT ' + target, 'GET http://' + target + '/'):
        s = socket.create_connection(('127.0.0.1', 3128), 10)
        s.settimeout(30)
        s.sendall((head + ' HTTP/1.1\\r\\nHost: x\\r\\n\\r\\n').encode())
        answer = b''
        while not answer.startswith(b'HTTP/1.1 200'):
            part = s.recv(4096)
            if not part:
                break
            answer += part
        print(at, head.split()[0], 'refused' if b'may not be reached' in answer else 'open')
sys.exit(3)
`;

interface Target {
  readonly host: string;
  readonly port: number;
}

interface Addresses {
  readonly api: string;
  readonly node: string;
  readonly worker: string;
  readonly operator: string;
}

const written = ({ host, port }: Target): string => `${host}:${port}`;
const workspace = { type: 'Inline', inline: { files: [{ path: 'ask.py', content: ask }] } };
const common = { poolRef: { name: 'pool' }, goal: 'Find a way.', checks: [{ name: 'unit', command: ['true'] }], attempts: { max: 1 } };

/** A task whose set-up step asks for hosts that the task lists itself. */
async function attack(name: string, hosts: readonly Target[]): Promise<void> {
  const setup = [{ name: 'ask', command: ['python3', 'ask.py', ...hosts.map(written)], network: 'Allowed' }];
  await fleet.apply('AgentTask', name, { ...common, workspace, setup, policy: { network: { mode: 'Allowed', hosts } } });
}

const git = (name: string, url: string): Promise<void> =>
  fleet.apply('AgentTask', name, { ...common, workspace: { type: 'Git', git: { url, ref: 'main' } } });

/** Creates a name in the attacker's namespace for an address of the attacker's choice. */
async function nameFor(name: string, address: string, port: number): Promise<Target> {
  const { namespace, kubectl } = fleet;
  const spec = { clusterIP: 'None', ports: [{ port }] };
  await kubectl.apply({ apiVersion: 'v1', kind: 'Service', metadata: { name, namespace }, spec });
  await kubectl.apply({
    apiVersion: 'discovery.k8s.io/v1',
    kind: 'EndpointSlice',
    metadata: { name, namespace, labels: { 'kubernetes.io/service-name': name } },
    addressType: 'IPv4',
    endpoints: [{ addresses: [address], conditions: { ready: true } }],
    ports: [{ port }],
  });
  return { host: `${name}.${namespace}.svc`, port };
}

async function podAddress(namespace: string, selector: string): Promise<string> {
  const { items } = await fleet.kubectl.json<{ items: readonly Pod[] }>(['-n', namespace, 'get', 'pods', '-l', selector]);
  return items.map(({ status }) => status?.podIP ?? '').find((ip) => ip !== '') ?? '';
}

let addresses: Addresses;
/** The bucket of the fleet: a server of the cluster that tasks have no business with, under its name. */
const bucket = (): Target => {
  const { hostname, port } = new URL(inject('fleet').storage.endpoint);
  return { host: hostname, port: Number(port || 80) };
};

beforeAll(async () => {
  const { kubectl } = fleet;
  const service = await kubectl.json<{ spec: { clusterIP: string } }>(['-n', 'default', 'get', 'service', 'kubernetes']);
  const nodes = await kubectl.json<{ items: readonly { status: { addresses: readonly { type: string; address: string }[] } }[] }>([
    'get',
    'nodes',
  ]);
  const internal = nodes.items.flatMap(({ status }) => status.addresses).find(({ type }) => type === 'InternalIP');
  addresses = {
    api: service.spec.clusterIP,
    node: internal?.address ?? '',
    worker: await podAddress(fleet.namespace, 'agentfleet.dev/component=worker'),
    operator: await podAddress(fleet.system, 'app.kubernetes.io/name=agentfleet'),
  };
  expect(Object.values(addresses).every((address) => /^\d+\.\d+\.\d+\.\d+$/.test(address))).toBe(true);
});

async function refusalOf(name: string): Promise<string> {
  const task = await fleet.until(name, 'refused', 30, (state) => condition(state, 'Accepted')?.status === 'False');
  await fleet.run('delete', 'aft', name);
  const { reason = '', message = '' } = condition(task, 'Accepted') ?? {};
  return `${reason}: ${message}`;
}

/** Returns the end of a task that is expected to fail while it is prepared. */
async function endOf(name: string): Promise<string> {
  const task = await fleet.finished(name);
  expect(task.status?.run?.outcome, await fleet.explain(name)).toMatchObject({ result: 'Failed' });
  return `${task.status?.run?.outcome?.reason ?? ''}: ${condition(task, 'Ready')?.message ?? ''}`;
}

describe('a task that lists addresses of the cluster itself', () => {
  test('is refused before anything runs, in every spelling', async () => {
    const { api, node, worker, operator } = addresses;
    const number = String(node.split('.').reduce((sum, part) => sum * 256 + Number(part), 0));
    const targets: readonly Target[] = [
      { host: '127.0.0.1', port: 8081 },
      { host: '0x7f.1', port: 8081 },
      { host: api, port: 443 },
      { host: node, port: 10_250 },
      { host: number, port: 10_250 },
      { host: worker, port: 8081 },
      { host: operator, port: 8080 },
      { host: '169.254.169.254', port: 80 },
    ];
    for (const [at, target] of targets.entries()) {
      await attack(`literal-${at}`, [target]);
      expect(await refusalOf(`literal-${at}`)).toContain(
        `HostNotAllowed: spec.policy.network.hosts has ${written(target)}, which is no public address`,
      );
      await git(`git-literal-${at}`, `https://${written(target)}/a/b`);
      expect(await refusalOf(`git-literal-${at}`)).toMatch(/^HostNotAllowed: spec\.workspace\.git\.url leads to /);
    }
  });

  test('reaches none of them by a name, whether by CONNECT or by plain HTTP', async () => {
    const targets = [
      { host: 'localhost', port: 8081 },
      { host: 'kubernetes.default.svc', port: 443 },
      await nameFor('kubelet', addresses.node, 10_250),
      await nameFor('neighbour', addresses.worker, 8081),
      await nameFor('metrics', addresses.operator, 8080),
      bucket(),
    ];
    await attack('names', targets);
    const end = await endOf('names');
    for (const at of targets.keys()) for (const method of ['CONNECT', 'GET']) expect(end).toContain(`${at} ${method} refused`);
    expect(end).not.toContain('open');
  });

  test('learns nothing from a Git address but that it is not open', async () => {
    const { host, port } = bucket();
    const urls = [
      `https://${host}:${port}/a/b`,
      `https://${host}:1/a/b`,
      'https://kubernetes.default.svc/a/b',
      'https://localhost:8081/a/b',
    ];
    await Promise.all(urls.map((url, at) => git(`git-${at}`, url)));
    for (const [at, url] of urls.entries()) {
      const { hostname, port: own } = new URL(url);
      const end = await endOf(`git-${at}`);
      expect(end).toMatch(/^HostNotAllowed: /);
      expect(end).toContain(`${url}: ${hostname}:${own || 443} may not be reached: it is unknown, or inside the cluster`);
    }
  });
});

describe('entries of the list of the pool', () => {
  beforeAll(async () => {
    const policy = { allowedHosts: [bucket()] };
    await fleet.run('patch', 'afp', 'pool', '--type=merge', '-p', JSON.stringify({ spec: { policy } }));
    const configMaps = async (): Promise<string> => fleet.run('get', 'configmaps', '-o', 'yaml');
    await vi.waitFor(async () => expect(await configMaps()).toContain('"allowedHosts"'), { timeout: 120_000, interval: 500 });
  });

  test('are reached, and bound the requests of tasks', async () => {
    await attack('listed', [bucket()]);
    expect(await endOf('listed')).toMatch(/0 CONNECT open\s+0 GET open/);
    await attack('unlisted', [bucket(), { host: 'example.com', port: 443 }]);
    expect(await refusalOf('unlisted')).toContain(
      `has example.com:443, and ExpertPool ${fleet.namespace}/pool allows these: ${written(bucket())};`,
    );
  });

  test('are reported as such when they are no Git servers', async () => {
    await fleet.apply('AgentTask', 'git-listed', {
      ...common,
      workspace: { type: 'Git', git: { url: `https://${written(bucket())}/a/b`, ref: 'main' } },
      deadlineSeconds: 60,
    });
    const task = await fleet.until('git-listed', 'an attempt failed', 60, ({ status }) => (status?.attempts ?? []).length > 0);
    expect(task.status?.attempts?.[0]?.reason).toMatch(/^(?:TLSFailed|ConnectionLost)$/);
    await fleet.run('delete', 'aft', 'git-listed', '--timeout=30s');
  });
});
