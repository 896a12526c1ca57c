import { isIP } from 'node:net';
import { ConfigError, oneOf, parseFlag, parseListen, parsePath, reader, type Env, type Listen } from '@agentfleet/protocol/environment';
import { logLevels, type LogLevel } from '@agentfleet/protocol/log';
import { egressPort } from '@agentfleet/protocol/keeper';
import { parseSubjects } from '@agentfleet/protocol/tokens';

export interface Root {
  readonly name: string;
  readonly path: string;
}

export interface Target {
  readonly name: string;
  readonly host: string;
  readonly port: number;
  /** `DNS`: a question over UDP, which counts only when it is answered; default: a TCP connection. */
  readonly by?: 'TCP' | 'DNS';
}

/** The keeper's configuration from its environment. */
export interface Config {
  readonly version: string;
  readonly listen: Listen;
  readonly egress: Listen;
  readonly link: { readonly path: string; readonly key: string };
  readonly storeDir: string;
  /** Bytes that the store may hold; the kubelet evicts a pod, with its store, whose volume exceeds its size. Null = no limit. */
  readonly storeLimitBytes: number | null;
  /** Number of the newest snapshots that a collection keeps, besides the labelled, the newest green and the current one. */
  readonly snapshotRetain: number;
  /** Snapshot engine. Auto never needs a mount. */
  readonly snapshotEngine: 'Auto' | 'CAS' | 'Overlay';
  /** Folder of the layers and the descriptor of the mounter; null: `runner mount` did not start this process. */
  readonly overlay: { readonly layersDir: string; readonly mounterFd: number } | null;
  /** The first one is the default working folder of commands. */
  readonly roots: readonly Root[];
  readonly home: string;
  readonly pod: { readonly name: string; readonly namespace: string; readonly uid: string };
  readonly auth: { readonly issuer: string; readonly jwksFile: string; readonly subjects: readonly string[] };
  readonly network: { readonly allowUnenforced: boolean; readonly targets: readonly Target[] };
  readonly runtimeClass: string | null;
  readonly runnerBinary: string;
  readonly toolsPath: string;
  /** Bytes that the roots may hold together; null = no limit. */
  readonly quotaBytes: number | null;
  /** Folders that count against the limit and belong to no snapshot. */
  readonly scratch: readonly string[];
  /** Paths that the roots may hold together; the keeper's memory limit is sized for it. */
  readonly quotaEntries: number;
  readonly logLevel: LogLevel;
}

const defaultRetain = 50;
const defaultEntries = 150_000;
const defaultToolsPath = '/usr/local/sbin:/usr/local/bin:/usr/sbin:/usr/bin:/sbin:/bin';

/** @throws ConfigError */
export function readConfig(env: Env): Config {
  const faults: string[] = [];
  const read = reader(env, faults, 'the pod');
  const roots = read('AGENTFLEET_ROOTS', parseRoots, parseRoots('workspace=/workspace,home=/home/agent'));
  const config: Config = {
    version: env['AGENTFLEET_VERSION'] || '0.0.0-dev',
    listen: read('AGENTFLEET_LISTEN', parseListen, { host: '::', port: 7070 }),
    egress: read('AGENTFLEET_EGRESS', parseListen, { host: '127.0.0.1', port: egressPort }),
    link: {
      path: read('AGENTFLEET_LINK', parsePath, '/.agentfleet/link/keeper.sock'),
      key: read('AGENTFLEET_LINK_KEY', parseKey),
    },
    ...storeFrom(env, read, faults),
    roots,
    home: (roots.find((root) => root.name === 'home') ?? roots[0])?.path ?? '/',
    pod: { name: read('POD_NAME', String), namespace: read('POD_NAMESPACE', String), uid: read('POD_UID', String) },
    auth: {
      issuer: read('AGENTFLEET_ISSUER', String),
      jwksFile: read('AGENTFLEET_JWKS', parsePath, '/etc/agentfleet/jwks/jwks.json'),
      subjects: read('AGENTFLEET_CLIENT', parseSubjects),
    },
    network: {
      allowUnenforced: read('AGENTFLEET_ALLOW_UNENFORCED_NETWORK', parseFlag, false),
      targets: read('AGENTFLEET_PROBE_TARGETS', parseTargets, [
        ...clusterTargets(env),
        ...read('AGENTFLEET_PROBE_DNS', parseResolvers, []),
        ...read('AGENTFLEET_PROBE_SENTINEL', parseTargets, []),
      ]),
    },
    runtimeClass: env['AGENTFLEET_RUNTIME_CLASS'] || null,
    runnerBinary: read('AGENTFLEET_RUNNER', parsePath, '/opt/agentfleet/runner'),
    toolsPath: read('AGENTFLEET_TOOLS_PATH', String, defaultToolsPath),
    quotaBytes: read<number | null>('AGENTFLEET_WORKSPACE_LIMIT_BYTES', parseBytes, null),
    scratch: read('AGENTFLEET_SCRATCH', (value) => value.split(',').map(parsePath), []),
    quotaEntries: read('AGENTFLEET_WORKSPACE_LIMIT_ENTRIES', parseBytes, defaultEntries),
    logLevel: read('LOG_LEVEL', oneOf(logLevels), 'info'),
  };
  if (faults.length > 0) throw new ConfigError(faults);
  return config;
}

function storeFrom(env: Env, read: ReturnType<typeof reader>, faults: string[]) {
  const layers = () => ({
    layersDir: read('AGENTFLEET_LAYERS', parsePath, '/var/lib/agentfleet-layers'),
    mounterFd: read('AGENTFLEET_MOUNTER_FD', parseBytes),
  });
  const snapshotEngine = read('AGENTFLEET_SNAPSHOT_ENGINE', oneOf<Config['snapshotEngine']>(['Auto', 'CAS', 'Overlay']), 'Auto');
  const overlay = env['AGENTFLEET_MOUNTER_FD'] ? layers() : null;
  if (snapshotEngine === 'Overlay' && overlay === null)
    faults.push(
      'AGENTFLEET_SNAPSHOT_ENGINE: Overlay needs `runner mount` to start the keeper; take the pod from the operator, or say Auto',
    );
  return {
    storeDir: read('AGENTFLEET_STORE', parsePath, '/var/lib/agentfleet'),
    storeLimitBytes: read<number | null>('AGENTFLEET_STORE_LIMIT_BYTES', parseBytes, null),
    snapshotRetain: read('AGENTFLEET_SNAPSHOT_RETAIN', parseBytes, defaultRetain),
    snapshotEngine,
    overlay,
  };
}

function parseKey(value: string): string {
  if (value.length < 32) throw new Error('it is shorter than 32 characters; give both containers the same random text of at least 32');
  return value;
}

function parseRoots(value: string): readonly Root[] {
  const roots = value.split(',').map((item) => {
    const match = /^\s*([a-z][a-z0-9_]*)=(\/[^,]*[^/,\s])\s*$/.exec(item);
    if (match === null) throw new Error(`"${item}" is not name=/absolute/path; write workspace=/workspace,home=/home/agent`);
    return { name: match[1] ?? '', path: match[2] ?? '' };
  });
  if (new Set(roots.map((root) => root.name)).size < roots.length) throw new Error('two roots have one name; name each once');
  const nested = roots.find((a) => roots.some((b) => a !== b && `${a.path}/`.startsWith(`${b.path}/`)));
  if (nested !== undefined) throw new Error(`${nested.path} lies inside another root; roots must be disjoint`);
  return roots;
}

function parseTargets(value: string): readonly Target[] {
  return value.split(',').map((item) => {
    const match = /^\s*(?:([\w.-]+)=)?(?:\[([^\]]+)\]|([^:\s]+)):(\d{1,5})\s*$/.exec(item);
    if (match === null) throw new Error(`"${item}" is not name=host:port`);
    const host = match[2] ?? match[3] ?? '';
    return { name: match[1] ?? host, host, port: Number(match[4]) };
  });
}

/**
 * Parses the cluster's DNS servers, probed by UDP and TCP. They are usually pods of another namespace, and what
 * policies open first.
 */
function parseResolvers(value: string): readonly Target[] {
  return value.split(',').flatMap((item): Target[] => {
    const host = item.trim();
    if (isIP(host) === 0) throw new Error(`"${item}" is not the address of a DNS server`);
    return [
      { name: 'dns', host, port: 53, by: 'DNS' },
      { name: 'dns-tcp', host, port: 53 },
    ];
  });
}

/** Targets that a pod without a policy can always reach: the API server and its kubelet. */
function clusterTargets(env: Env): readonly Target[] {
  const api = env['KUBERNETES_SERVICE_HOST'];
  const kubelet = env['HOST_IP'];
  return [
    ...(api ? [{ name: 'apiserver', host: api, port: Number(env['KUBERNETES_SERVICE_PORT'] ?? 443) }] : []),
    ...(kubelet ? [{ name: 'kubelet', host: kubelet, port: 10_250 }] : []),
  ];
}

function parseBytes(value: string): number {
  const bytes = Number(value);
  if (!/^\d+$/.test(value) || !Number.isSafeInteger(bytes) || bytes === 0) throw new Error(`"${value}" is not a positive number`);
  return bytes;
}
