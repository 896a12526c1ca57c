import { holdersWall } from '../../../operands/index.ts';
import type { Expert, ExpertPool } from '@agentfleet/protocol/api';
import { labels, workerPort, expertPort, type EgressBrief } from '@agentfleet/protocol/pool';
import { expertsName, holdersName, workersName } from '../../../pools/names.ts';
import { heardByGolden } from '../../../revisions/index.ts';
import { resources } from '../../../runtime/resources.ts';
import { heardBy, heardByPrometheus, peer, resultsLabels, serverWall, tcp, type ServerWall } from '../../../serving/index.ts';
import { vllmPort } from '../../../serving/vllm/index.ts';
import { isBehindGateway, isChat } from './chat.ts';
import { owned, poolLabels, type Manifest } from '../../../operands/manifest.ts';
import { hasGoldenSets } from './access.ts';
import { isIP } from 'node:net';
import { gatewayPort } from '@agentfleet/protocol/gateway';
import { keeperPort } from '@agentfleet/protocol/keeper';
import type { ApiEndpoint } from '../../../runtime/context.ts';

/**
 * Experts accept the workers of their pool and the operator, and connect to no one; only adapters connect to the engine that
 * loads them, by its name. Pure.
 */
function expertsWall(pool: ExpertPool, operatorNamespace: string, prometheus?: string): Manifest {
  const own = poolLabels(pool, 'expert');
  const workers = serverWall(own, poolLabels(pool, 'worker'), operatorNamespace);
  const asked = hasGoldenSets(pool) ? heardByGolden(workers, { [labels.pool]: pool.metadata.name }) : workers;
  const scraped = heardByPrometheus(asked, prometheus, [vllmPort]);
  const gateway = peer({ pods: poolLabels(pool, 'gateway') });
  const wall = pool.spec.experts.some(isChatEngine) ? heardBy(scraped, gateway, vllmPort) : scraped;
  const adapters = pool.spec.experts.some(({ engine }) => engine.type === 'Adapter');
  const spec = adapters ? withEngines(wall, own) : wall;
  return owned(pool, resources.networkPolicies, { name: expertsName(pool.metadata.name), component: 'expert' }, { spec });
}

/** An engine that the gateway asks. */
const isChatEngine = (expert: Expert): boolean => isChat(expert) && !isBehindGateway(expert);

function withEngines(wall: ServerWall, own: Readonly<Record<string, string>>): object {
  const engines = peer({ pods: own });
  const dns = { to: [peer({ namespace: 'kube-system' })], ...nameServers };
  return { ...heardBy(wall, engines, vllmPort), egress: [{ to: [engines], ports: tcp(vllmPort) }, dns] };
}

/** Workers hear Prometheus and the results server, as the kubelet needs no rule, and speak to what the pool and its tasks need. Pure. */
function workersWall(pool: ExpertPool, egress: readonly object[], prometheus: string | undefined, results: string | undefined): Manifest {
  const from = [
    ...(prometheus === undefined ? [] : [peer({ namespace: prometheus })]),
    ...(results === undefined ? [] : [peer({ namespace: results, pods: resultsLabels })]),
  ];
  const spec = {
    podSelector: { matchLabels: poolLabels(pool, 'worker') },
    policyTypes: ['Ingress', 'Egress'],
    // An empty list would be dropped by the API server: no ingress is allowed.
    ...(from.length > 0 && { ingress: [{ from, ports: tcp(workerPort) }] }),
    egress,
  };
  return owned(pool, resources.networkPolicies, { name: workersName(pool.metadata.name), component: 'worker' }, { spec });
}

/** The network policies of a pool; `prometheus` is the namespace of who scrapes, `reach` what workers need. Pure. */
export function poolWalls(
  pool: ExpertPool,
  operatorNamespace: string,
  prometheus?: string,
  reach: WorkerReach = noReach,
): readonly Manifest[] {
  const workers = workersWall(pool, workersEgress(pool, reach), prometheus, reach.hasResults === true ? operatorNamespace : undefined);
  const holders = { name: holdersName(pool.metadata.name, 'pool'), labels: poolLabels(pool, 'expert') };
  return [expertsWall(pool, operatorNamespace, prometheus), workers, ...holdersWall(pool, holders)];
}

/** Destinations in the network that the workers of a pool need besides its own parts. */
export interface WorkerReach {
  readonly egress: EgressBrief;
  /** Addresses of the API server; empty: unknown. */
  readonly apiServer: readonly ApiEndpoint[];
  /** Rules of the administrator for what is found here by no rule. */
  readonly more: readonly object[];
  /** Address of the proxy that workers use; undefined: none. */
  readonly proxy?: string | undefined;
  /** Endpoint to which workers send spans; undefined: none. */
  readonly tracing?: string | undefined;
  /** Whether the pool has a gateway to chat models. */
  readonly hasChat?: boolean;
  /** Whether the results server beside the operator asks workers. */
  readonly hasResults?: boolean;
}

export const noReach: WorkerReach = { egress: { registries: [], environment: {} }, apiServer: [], more: [] };

/** Networks in which tenants, nodes and other services of a platform live, and which no public name should lead to. */
const closed = {
  v4: [
    '0.0.0.0/8',
    '10.0.0.0/8',
    '100.64.0.0/10',
    '127.0.0.0/8',
    '168.63.129.16/32',
    '169.254.0.0/16',
    '172.16.0.0/12',
    '192.0.0.0/24',
    '192.0.2.0/24',
    '192.88.99.0/24',
    '192.168.0.0/16',
    '198.18.0.0/15',
    '198.51.100.0/24',
    '203.0.113.0/24',
    '224.0.0.0/4',
    '240.0.0.0/4',
  ],
  v6: ['2001::/23', '2001:db8::/32', '2002::/16', '3fff::/20'],
} as const;

/**
 * Networks that a name which a pool or the platform lists may lead to beside the public ones, as the worker's own guard
 * judges them: private ones and those that IANA keeps for special uses. Link-local ones are never opened.
 */
const privateRanges = [
  '10.0.0.0/8',
  '100.64.0.0/10',
  '172.16.0.0/12',
  '192.0.0.0/24',
  '192.0.2.0/24',
  '192.168.0.0/16',
  '198.18.0.0/15',
  '198.51.100.0/24',
  '203.0.113.0/24',
  'fc00::/7',
];

const block = (cidr: string, except: readonly string[] = []): object => ({
  ipBlock: { cidr, ...(except.length > 0 && { except: [...except] }) },
});

const single = (address: string): object => block(`${address}/${isIP(address) === 6 ? 128 : 32}`);

/** Public addresses at any port; where the API server is one of them, it has a rule of its own anyway. */
function publicPeers({ clusterRanges = [] }: EgressBrief): readonly object[] {
  const of = (version: 4 | 6): readonly string[] => clusterRanges.filter((range) => isIP(range.split('/')[0] ?? '') === version);
  // An exception has to be inside its block, and all global addresses of IPv6 are in this one.
  const global = of(6).filter((range) => /^[23][0-9a-f]{3}:/i.test(range));
  return [block('0.0.0.0/0', [...closed.v4, ...of(4)]), block('2000::/3', [...closed.v6, ...global])];
}

/** Ports of name servers; their place in a cluster, and whether they are pods, differs. */
export const nameServers: object = { ports: [{ protocol: 'UDP', port: 53 }, ...tcp(53)] };

export interface Host {
  readonly host: string;
  readonly port: number;
}

/** Namespace of a Service by its name in the cluster, as `web.shop.svc`; undefined: it is none. */
function serviceNamespace(host: string): string | undefined {
  return /^[-a-z0-9]+\.([-a-z0-9]+)\.svc(\.[-a-z0-9.]+)?\.?$/i.exec(host)?.[1];
}

/**
 * Returns the rule of a host that may be in a private network. A NetworkPolicy knows no names: for a Service its namespace is open,
 * as the ports of its pods may be others; for any other name private addresses are, at that port. Workers look at each address.
 */
function hostRule({ host, port }: Host, { clusterRanges = [] }: EgressBrief): object {
  const namespace = serviceNamespace(host);
  if (namespace !== undefined) return { to: [peer({ namespace })] };
  const address = host.replace(/^\[(.*)\]$/, '$1');
  const peers = isIP(address) === 0 ? [...privateRanges, ...clusterRanges].map((range) => block(range)) : [single(address)];
  return { to: peers, ports: tcp(port) };
}

/** The host and the port of an address by http or https. */
export function hostOf(address: string): Host {
  const { hostname, port, protocol } = new URL(address);
  return { host: hostname, port: Number(port) || (protocol === 'http:' ? 80 : 443) };
}

/**
 * The rules of one host, for pods that may reach nothing else: of a literal address this one, of a Service its namespace (`home`
 * for a name without dots), of any other name public addresses and private ones, at that port.
 */
export function onlyHost({ host, port }: Host, egress: EgressBrief, home: string): readonly object[] {
  const name = /[.:]/.test(host) ? host : `${host}.${home}.svc`;
  const rule = hostRule({ host: name, port }, egress);
  const isName = serviceNamespace(name) === undefined && isIP(name.replace(/^\[(.*)\]$/, '$1')) === 0;
  return isName ? [rule, { to: publicPeers(egress), ports: tcp(port) }] : [rule];
}

/** Hosts that the pool and the administrator name. */
function listedHosts({ spec }: ExpertPool, { registries }: EgressBrief): readonly Host[] {
  const { endpoint } = spec.storage ?? {};
  const storage = endpoint === undefined ? [] : [hostOf(endpoint)];
  const servers = (spec.tools?.mcpServers ?? []).map(({ url }) => hostOf(url));
  return [...storage, ...registries, ...(spec.policy.allowedHosts ?? []), ...servers];
}

/** Without its addresses, the ports that API servers have, anywhere. */
function apiServerRules(apiServer: readonly ApiEndpoint[]): readonly object[] {
  if (apiServer.length === 0) return [{ ports: tcp(443, 6443) }];
  const byPort = Map.groupBy(apiServer, ({ port }) => port);
  return [...byPort].map(([port, all]) => ({ to: all.map(({ address }) => single(address)), ports: tcp(port) }));
}

/** The egress rules of the workers of a pool: what the pool and its tasks need, and no other pod. Pure. */
function workersEgress(pool: ExpertPool, reach: WorkerReach): readonly object[] {
  const { egress, apiServer, more, proxy, tracing, hasChat = false } = reach;
  const outside = [proxy, tracing].flatMap((address) => (address === undefined ? [] : [hostOf(address)]));
  const hosts = [...listedHosts(pool, egress), ...outside];
  const rules = [
    nameServers,
    ...apiServerRules(apiServer),
    { to: [peer({ pods: poolLabels(pool, 'expert') })], ports: tcp(expertPort) },
    { to: [peer({ pods: { [labels.component]: 'verifier' } })], ports: tcp(expertPort) },
    ...(hasChat ? [{ to: [peer({ pods: poolLabels(pool, 'gateway') })], ports: tcp(gatewayPort) }] : []),
    { to: [{ namespaceSelector: {}, ...peer({ pods: { [labels.component]: 'sandbox' } }) }], ports: tcp(keeperPort) },
    ...hosts.map((host) => hostRule(host, egress)),
    { to: publicPeers(egress) },
    ...more,
  ];
  return [...new Map(rules.map((rule) => [JSON.stringify(rule), rule])).values()];
}
