// hack, cluster/base: choice of free ports, and their listeners. Of other folders imports hack/cache only.
import { once } from 'node:events';
import { createServer, type AddressInfo } from 'node:net';
import { readFile, readdir, readlink } from 'node:fs/promises';

/** Listening TCP ports by purpose. All but the API server's listen on loopback only. */
export type Ports = Readonly<Record<PortName, number>>;

/** Purposes of ports; the kubelet's 10250 is fixed, in `kubeletPort`. */
type PortName =
  | 'apiserver'
  | 'etcd'
  | 'etcdPeer'
  | 'controllerManager'
  | 'scheduler'
  | 'kubeletHealth'
  | 'proxyHealth'
  | 'proxyMetrics'
  | 'routerHealth'
  | 'kwok';

/** Other programs take this port for granted, so it cannot move. */
export const kubeletPort = 10250;

/** First choices: below the range of node ports (30000) and of outgoing connections (32768). */
export const defaultPorts: Ports = {
  apiserver: 16443,
  etcd: 12379,
  etcdPeer: 12380,
  controllerManager: 11257,
  scheduler: 11259,
  kubeletHealth: 11248,
  proxyHealth: 11256,
  proxyMetrics: 11249,
  routerHealth: 11244,
  kwok: 11247,
};

/**
 * Keeps every wanted port that is free and moves the others up in steps of 100, so that the numbers stay recognisable.
 * Never gives one port twice. Throws when fifty steps find none, which means the probe is broken.
 */
export function choosePorts(wanted: Ports, isTaken: (port: number) => boolean): Ports {
  const chosen = new Map<PortName, number>();
  const used = new Set<number>();
  for (const [name, first] of Object.entries(wanted) as [PortName, number][]) {
    const steps = Array.from({ length: 50 }, (_, step) => first + step * 100);
    const port = steps.find((candidate) => !used.has(candidate) && candidate !== kubeletPort && !isTaken(candidate));
    if (port === undefined) throw new Error(`no free port for ${name} from ${first} on`);
    used.add(port);
    chosen.set(name, port);
  }
  return Object.fromEntries(chosen) as Ports;
}

/** A listening socket: its port and the inode by which `/proc/<pid>/fd` names it. */
export interface Listener {
  readonly port: number;
  readonly inode: string;
}

/** The listening sockets in the text of `/proc/net/tcp` or `tcp6` (state 0A is LISTEN). */
export function parseListeners(table: string): Listener[] {
  return table
    .split('\n')
    .slice(1)
    .map((line) => line.trim().split(/\s+/))
    .filter((fields) => fields[3] === '0A')
    .map((fields) => ({ port: Number.parseInt(fields[1]?.split(':')[1] ?? '', 16), inode: fields[9] ?? '' }));
}

/** Lists all listening TCP sockets of this network namespace. */
export async function listeners(): Promise<Listener[]> {
  const tables = await Promise.all(['/proc/net/tcp', '/proc/net/tcp6'].map((path) => readFile(path, 'utf8').catch(() => '')));
  return tables.flatMap(parseListeners);
}

/** The inodes of all sockets that a process holds open. */
export async function socketInodes(pid: number): Promise<string[]> {
  const names = await readdir(`/proc/${pid}/fd`).catch(() => []);
  const targets = await Promise.all(names.map((name) => readlink(`/proc/${pid}/fd/${name}`).catch(() => '')));
  return targets.flatMap((target) => /^socket:\[(\d+)\]$/.exec(target)?.[1] ?? []);
}

/** Returns the owner of a socket, as "name (pid N)", for an error message. */
export async function socketOwner(inode: string): Promise<string> {
  for (const pid of (await readdir('/proc')).filter((name) => /^\d+$/.test(name))) {
    if (!(await socketInodes(Number(pid))).includes(inode)) continue;
    const name = await readFile(`/proc/${pid}/comm`, 'utf8').catch(() => '?');
    return `${name.trim()} (pid ${pid})`;
  }
  return 'a process that this user cannot see';
}

/** A port of an address of this machine that nobody listens on now. */
export async function freePort(host = '127.0.0.1'): Promise<number> {
  const probe = createServer().listen(0, host);
  await once(probe, 'listening');
  const { port } = probe.address() as AddressInfo;
  probe.close();
  await once(probe, 'close');
  return port;
}
