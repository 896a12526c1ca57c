// hack, cluster/base: addresses of the cluster and its node. Of other folders imports hack/cache only.
import { networkInterfaces } from 'node:os';
import { readFile } from 'node:fs/promises';
import { ClusterError } from './errors.ts';

/** Addresses of the cluster. Pods get a /24 of the pod range, which is enough for one node. */
export const network = {
  serviceCidr: '10.96.0.0/16',
  podCidr: '10.244.0.0/16',
  nodePodCidr: '10.244.0.0/24',
  apiServiceIp: '10.96.0.1',
  dnsServiceIp: '10.96.0.10',
  fakePodCidr: '10.245.0.0/16',
  bridge: 'afcni0',
  name: 'agentfleet',
} as const;

/** Name of our one node, independent of the host's name, which may not be a valid object name. */
export const nodeName = 'agentfleet-node';

/** The interface of the default route in the text of `/proc/net/route`. */
export function defaultInterface(routes: string): string | undefined {
  for (const line of routes.split('\n').slice(1)) {
    const [name, destination, , , , , , mask] = line.split('\t');
    if (destination === '00000000' && mask === '00000000') return name;
  }
  return undefined;
}

/** Returns the host's own IPv4 address: on the interface of the default route, else the first that is not loopback. */
export async function hostAddress(): Promise<string> {
  const route = defaultInterface(await readFile('/proc/net/route', 'utf8'));
  const all = networkInterfaces();
  const names = route === undefined ? Object.keys(all) : [route, ...Object.keys(all)];
  for (const name of names) {
    const found = all[name]?.find((address) => address.family === 'IPv4' && !address.internal && name !== network.bridge);
    if (found) return found.address;
  }
  throw new ClusterError('AF_NO_ADDRESS', {
    what: 'this machine has no IPv4 address besides loopback',
    where: 'pods reach the API server through the host address',
    cure: 'Configure an address on some interface, then run the command again',
  });
}

/** The nameserver lines that work from inside a pod: those of the host that are not loopback stubs. */
export function podResolvConf(hostFiles: readonly string[]): string {
  for (const text of hostFiles) {
    const lines = text.split('\n').filter((line) => /^nameserver\s+(?!127\.|::1)\S/.test(line));
    if (lines.length > 0) return `${lines.join('\n')}\n`;
  }
  return '';
}
