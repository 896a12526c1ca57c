import { BlockList, isIP } from 'node:net';
import { describe, expect, test } from 'vitest';
import { newPool } from '../../agenttask/testing/objects.ts';
import { poolWalls, noReach, type WorkerReach } from './walls.ts';

interface Peer {
  readonly ipBlock?: { readonly cidr: string; readonly except?: readonly string[] };
  readonly podSelector?: { readonly matchLabels: Readonly<Record<string, string>> };
  readonly namespaceSelector?: { readonly matchLabels?: Readonly<Record<string, string>> };
}
interface Rule {
  readonly to?: readonly Peer[];
  readonly from?: readonly Peer[];
  readonly ports?: readonly { readonly protocol?: string; readonly port: number }[];
}
interface Wall {
  readonly podSelector: object;
  readonly policyTypes: readonly string[];
  readonly ingress?: readonly Rule[];
  readonly egress: readonly Rule[];
}

/** Where the workers of a pool go, as a network reads their wall. */
interface Pod {
  readonly namespace: string;
  readonly labels: Readonly<Record<string, string>>;
}

const apiServer = [
  { address: '10.0.0.10', port: 6443 },
  { address: '10.0.0.11', port: 6443 },
];

function wallOf(spec: Readonly<Record<string, unknown>> = {}, reach: Partial<WorkerReach> = {}, prometheus?: string): Wall {
  const base = newPool(spec);
  const pool = { ...base, metadata: { ...base.metadata, uid: 'uid' } };
  const [, workers] = poolWalls(pool, 'agentfleet-system', prometheus, { ...noReach, apiServer, ...reach });
  return workers?.object['spec'] as Wall;
}

function within(range: string, address: string): boolean {
  const [base = '', bits] = range.split('/');
  const family = (of: string) => (isIP(of) === 6 ? 'ipv6' : 'ipv4');
  if (family(base) !== family(address)) return false;
  const list = new BlockList();
  list.addSubnet(base, Number(bits), family(base));
  return list.check(address, family(address));
}

const covers = ({ ipBlock }: Peer, address: string): boolean =>
  ipBlock !== undefined && within(ipBlock.cidr, address) && !(ipBlock.except ?? []).some((range) => within(range, address));

function selects({ podSelector, namespaceSelector }: Peer, { namespace, labels }: Pod): boolean {
  const home = namespaceSelector === undefined ? namespace === 'platform' : true;
  const named = Object.entries(namespaceSelector?.matchLabels ?? {}).every(([, value]) => value === namespace);
  return (
    (podSelector !== undefined || namespaceSelector !== undefined) &&
    home &&
    named &&
    Object.entries(podSelector?.matchLabels ?? {}).every(([key, value]) => labels[key] === value)
  );
}

const open = ({ egress }: Wall, to: string | Pod, port: number): boolean =>
  egress.some(
    ({ to: peers, ports }) =>
      (ports === undefined || ports.some((one) => one.port === port)) &&
      (peers === undefined || peers.some((peer) => (typeof to === 'string' ? covers(peer, to) : selects(peer, to)))),
  );

const component = (name: string, namespace = 'platform', pool = 'coding'): Pod => ({
  namespace,
  labels: { 'agentfleet.dev/component': name, 'agentfleet.dev/pool': pool },
});

describe('the wall of workers', () => {
  const wall = wallOf();

  test('is about the workers of the pool, opens nothing to everybody, and can be written', () => {
    expect(wall.podSelector).toEqual({ matchLabels: { 'agentfleet.dev/component': 'worker', 'agentfleet.dev/pool': 'coding' } });
    expect(wall.policyTypes).toEqual(['Ingress', 'Egress']);
    expect(wall.egress.filter(({ to, ports }) => to === undefined && ports === undefined)).toEqual([]);
    // The API server refuses an exception outside of its block.
    for (const { ipBlock } of wall.egress.flatMap(({ to = [] }) => to))
      for (const range of ipBlock?.except ?? []) expect(within(ipBlock?.cidr ?? '', range.split('/')[0] ?? '')).toBe(true);
  });

  test.each([
    ['experts of the pool', component('expert'), 7080],
    ['verifiers of its namespace', component('verifier', 'platform', ''), 7080],
    ['keepers of tenants', component('sandbox', 'team'), 7070],
    ['the API server', '10.0.0.11', 6443],
    ['a name server', '10.96.0.10', 53],
    ['a public host', '140.82.112.3', 22],
    ['a public host with IPv6', '2606:4700:4700::1111', 443],
  ])('lets out to %s', (_what, to, port) => expect(open(wall, to, port)).toBe(true));

  test.each([
    ['experts of another pool', component('expert', 'platform', 'other'), 7080],
    ['experts of another namespace', component('expert', 'team'), 7080],
    ['a tool in a sandbox', component('sandbox', 'team'), 8080],
    ['another worker', component('worker'), 7090],
    ['the metrics of the operator', { namespace: 'agentfleet-system', labels: { 'app.kubernetes.io/name': 'agentfleet' } }, 8080],
    ['a pod of a tenant', { namespace: 'team', labels: {} }, 443],
    ['a pod by its address', '10.244.1.7', 7080],
    ['a node', '10.0.0.11', 10250],
    ['a private host', '192.168.1.1', 443],
    ['a shared address', '100.64.0.1', 443],
    ['the metadata service', '169.254.169.254', 80],
    ['a unique local address', 'fd00::1', 443],
    ['a mapped address', '::ffff:10.0.0.1', 443],
    ['a documentation range', '2001:db8::1', 443],
  ])('does not let out to %s', (_what, to, port) => expect(open(wall, to, port)).toBe(false));

  test('accepts no one, or the Prometheus of the one namespace that is named, at its metrics', () => {
    expect(wall.ingress).toBeUndefined();
    expect(wallOf({}, {}, 'monitoring').ingress).toEqual([
      {
        from: [{ namespaceSelector: { matchLabels: { 'kubernetes.io/metadata.name': 'monitoring' } } }],
        ports: [{ protocol: 'TCP', port: 7090 }],
      },
    ]);
  });
});

describe('what pools and administrators list', () => {
  const storage = (endpoint: string) => ({ storage: { uri: 's3://bucket', endpoint } });

  test('storage behind a Service opens its namespace alone', () => {
    const wall = wallOf(storage('http://s3.store.svc:80'));
    expect(open(wall, { namespace: 'store', labels: {} }, 9000)).toBe(true);
    expect(open(wall, { namespace: 'team', labels: {} }, 9000)).toBe(false);
    expect(open(wall, '10.244.1.7', 80)).toBe(false);
  });

  test('storage at an address opens that address and port', () => {
    const wall = wallOf(storage('https://192.168.7.7:9000'));
    expect([open(wall, '192.168.7.7', 9000), open(wall, '192.168.7.7', 9001), open(wall, '192.168.7.8', 9000)]).toEqual([
      true,
      false,
      false,
    ]);
  });

  test('a name may lead to private addresses at its port', () => {
    const wall = wallOf(storage('https://s3.example.com'));
    expect([open(wall, '10.1.2.3', 443), open(wall, 'fd00::7', 443), open(wall, '10.1.2.3', 8443)]).toEqual([true, true, false]);
    expect(open(wall, '169.254.169.254', 443)).toBe(false);
  });

  test('registries are reached in all pools', () => {
    const wall = wallOf({}, { egress: { registries: [{ host: 'packages.tools.svc', port: 443 }], environment: {} } });
    expect(open(wall, { namespace: 'tools', labels: {} }, 8443)).toBe(true);
  });

  test('hosts that the pool allows are open at their ports, in ranges of the cluster too', () => {
    const egress = { registries: [], environment: {}, clusterRanges: ['203.0.114.0/24', '2a01:4f8::/32'] };
    const wall = wallOf({ policy: { allowedHosts: [{ host: 'git.example.com', port: 8443 }] } }, { egress });
    expect([open(wall, '192.168.3.3', 8443), open(wall, '203.0.114.9', 8443), open(wall, '2a01:4f8::9', 8443)]).toEqual([true, true, true]);
    expect([open(wall, '192.168.3.3', 443), open(wall, '203.0.114.9', 443), open(wall, '2a01:4f8::9', 443)]).toEqual([false, false, false]);
  });

  test('MCP servers of the pool are open at their ports', () => {
    const server = { name: 'docs', url: 'http://docs.team.svc:8080/mcp', timeoutSeconds: 60, readOnly: true };
    const wall = wallOf({ tools: { mcpServers: [server] } });
    expect(open(wall, { namespace: 'team', labels: {} }, 8080)).toBe(true);
    expect(open(wallOf(), { namespace: 'team', labels: {} }, 8080)).toBe(false);
  });

  test('rules of the administrator are added as they are', () => {
    const rule = { ports: [{ port: 3128 }] };
    expect(wallOf({}, { more: [rule] }).egress).toContainEqual(rule);
  });

  test('without addresses of the API server the ports of API servers are open', () => {
    const wall = wallOf({}, { apiServer: [] });
    expect([open(wall, '10.0.0.10', 6443), open(wall, '10.0.0.10', 443), open(wall, '10.0.0.10', 10250)]).toEqual([true, true, false]);
  });
});
