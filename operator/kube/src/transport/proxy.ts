// operator/kube, transport: choice of the HTTP proxy to a server from the environment. May import api and runtime alone.
import { BlockList, isIP } from 'node:net';

interface Target {
  readonly host: string;
  readonly port: string;
}

function targetOf({ protocol, hostname, port }: URL): Target {
  return { host: hostname.replace(/^\[|\]$/g, '').toLowerCase(), port: port || (protocol === 'https:' ? '443' : '80') };
}

const family = (address: string): 'ipv4' | 'ipv6' => (isIP(address) === 6 ? 'ipv6' : 'ipv4');

const loopback = new BlockList();
loopback.addSubnet('127.0.0.0', 8, 'ipv4');
loopback.addAddress('::1', 'ipv6');

/** Reports whether an entry of NO_PROXY is a range of addresses that has this one. */
function inRange(entry: string, host: string): boolean {
  const [base = '', prefix = ''] = entry.split('/');
  const bits = Number(prefix);
  if (isIP(base) === 0 || !/^\d{1,3}$/.test(prefix) || bits > (isIP(base) === 6 ? 128 : 32)) return false;
  const range = new BlockList();
  range.addSubnet(base, bits, family(base));
  return range.check(host, family(host));
}

/** One entry: `*`, an address, a range, a name with all that is below it, or `.name` for that alone; addresses and names may have a port. */
function names(entry: string, { host, port }: Target): boolean {
  if (entry === '*') return true;
  if (entry.includes('/')) return isIP(host) !== 0 && inRange(entry, host);
  const { name = entry, at } = /^\[?(?<name>[^\]]*?)\]?(?::(?<at>\d+))?$/.exec(isIP(entry) === 6 ? `[${entry}]` : entry)?.groups ?? {};
  if (at !== undefined && at !== port) return false;
  if (isIP(host) !== 0 || isIP(name) !== 0) return name === host;
  const below = name.replace(/^\*(?=\.)/, '');
  return below !== '' && (below.startsWith('.') ? host.endsWith(below) : host === below || host.endsWith(`.${below}`));
}

/**
 * URL of the proxy to a server by HTTPS_PROXY, HTTP_PROXY and NO_PROXY, as kubectl reads them (golang.org/x/net/http/httpproxy): never for
 * the loopback; undefined is none. Pure.
 */
export function proxyOf(server: string, env: NodeJS.ProcessEnv): string | undefined {
  const url = new URL(server);
  const name = url.protocol === 'https:' ? 'https_proxy' : 'http_proxy';
  const proxy = env[name.toUpperCase()] || env[name];
  const target = targetOf(url);
  const { host } = target;
  if (!proxy || host === 'localhost' || (isIP(host) !== 0 && loopback.check(host, family(host)))) return undefined;
  const except = (env['NO_PROXY'] || env['no_proxy'] || '').split(',').map((entry) => entry.trim().toLowerCase());
  if (except.some((entry) => entry !== '' && names(entry, target))) return undefined;
  return proxy.includes('://') ? proxy : `http://${proxy}`;
}
