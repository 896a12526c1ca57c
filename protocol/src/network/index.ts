/** Addresses that an egress guard judges: the meaning of a written host, and the scope of an address. Imports nothing. */
import { BlockList, isIP } from 'node:net';

/**
 * Scope of an address, as an egress guard sees it. Public: the internet. Private: networks behind the guard (RFC 1918, unique
 * local, shared and special ranges, and what the platform adds). Host: the guard's own machine and the API server. Forbidden:
 * unspecified, link-local, multicast and reserved addresses, and metadata services, which nothing opens.
 */
export const addressScopes = ['Public', 'Private', 'Host', 'Forbidden'] as const;
export type AddressScope = (typeof addressScopes)[number];

/** Ranges of a platform's own network, beside those that are special everywhere. */
export interface AddressRanges {
  /** Pods, services and nodes, in CIDR form; single addresses count too. */
  readonly private?: readonly string[];
  /** Addresses that lead to the guard itself or to the API server. */
  readonly host?: readonly string[];
}

/** Returns the scope of an address; Forbidden for a text that is none, and for one with a zone. Pure. */
export type AddressJudge = (address: string) => AddressScope;

/** IANA special-purpose registries (RFC 6890), and fixed addresses of metadata services outside of them. */
const special: Readonly<Record<Exclude<AddressScope, 'Public'>, readonly string[]>> = {
  Forbidden: [
    '0.0.0.0/8',
    '169.254.0.0/16',
    '224.0.0.0/4',
    '240.0.0.0/4',
    '100.100.100.200',
    '168.63.129.16',
    '192.0.0.192',
    '::/128',
    'fe80::/10',
    'fec0::/10',
    'ff00::/8',
    'fd00:ec2::/32',
    'fd20:ce::/32',
  ],
  Host: ['127.0.0.0/8', '::1'],
  Private: [
    '10.0.0.0/8',
    '100.64.0.0/10',
    '172.16.0.0/12',
    '192.168.0.0/16',
    '198.18.0.0/15',
    '192.0.0.0/24',
    '192.0.2.0/24',
    '192.88.99.0/24',
    '198.51.100.0/24',
    '203.0.113.0/24',
    '2001::/23',
    '2001:db8::/32',
    '2002::/16',
    '3fff::/20',
  ],
};

/** The only global unicast addresses that are given out (RFC 4291, 2.4): all other IPv6 is at best private. */
const globalUnicast = listOf(['2000::/3']);

/** Prefixes, as groups, whose last 32 bits are the IPv4 address that is reached: mapped addresses, and NAT64 (RFC 6052). */
const embedding = [
  [0, 0, 0, 0, 0, 0xffff],
  [0x64, 0xff9b, 0, 0, 0, 0],
];

function listOf(ranges: readonly string[]): BlockList {
  const list = new BlockList();
  for (const range of ranges) {
    const [address = '', bits] = range.split('/');
    const version = isIP(address);
    if (version === 0) continue;
    const family = version === 6 ? 'ipv6' : 'ipv4';
    if (bits === undefined) list.addAddress(address, family);
    else list.addSubnet(address, Number(bits), family);
  }
  return list;
}

/**
 * Makes the judge of addresses. Addresses that wrap an IPv4 address are judged by that.
 *
 * @throws Error for a range whose number of bits does not fit
 */
export function createAddressJudge(ranges: AddressRanges = {}): AddressJudge {
  const forbidden = listOf(special.Forbidden);
  const host = listOf([...special.Host, ...(ranges.host ?? [])]);
  const closed = listOf([...special.Private, ...(ranges.private ?? [])]);
  return (written) => {
    const address = unwrapped(written);
    if (address === null) return 'Forbidden';
    const family = isIP(address) === 6 ? 'ipv6' : 'ipv4';
    if (forbidden.check(address, family)) return 'Forbidden';
    if (host.check(address, family)) return 'Host';
    if (closed.check(address, family)) return 'Private';
    return family === 'ipv4' || globalUnicast.check(address, family) ? 'Public' : 'Private';
  };
}

/** The address that is reached in the end; null for what is no address or depends on an interface. */
function unwrapped(address: string): string | null {
  if (isIP(address) === 4) return address;
  if (isIP(address) !== 6 || address.includes('%')) return null;
  const groups = groupsOf(address);
  if (!embedding.some((prefix) => prefix.every((group, at) => groups[at] === group))) return address;
  return groups
    .slice(6)
    .flatMap((group) => [group >> 8, group & 0xff])
    .join('.');
}

/** The eight groups of an IPv6 address without a zone. */
function groupsOf(address: string): readonly number[] {
  const [head = '', tail] = new URL(`http://[${address}]`).hostname.slice(1, -1).split('::');
  const parse = (text: string): number[] => (text === '' ? [] : text.split(':').map((group) => Number.parseInt(group, 16)));
  if (tail === undefined) return parse(head);
  const [first, last] = [parse(head), parse(tail)];
  return [...first, ...Array.from({ length: 8 - first.length - last.length }, () => 0), ...last];
}

/**
 * The address that a host is, however it is spelled; null for a name. Resolvers take decimal, octal, hexadecimal and
 * shortened spellings of IPv4 (`inet_aton`): 2130706433, 0177.1 and 0x7f000001 are 127.0.0.1. A zone stays, so that it is judged.
 */
export function literalAddress(host: string): string | null {
  const bare = host.replace(/^\[(.*)\]$/, '$1').replace(/\.$/, '');
  if (isIP(bare) !== 0) return bare;
  if (!/^[0-9a-fx.]+$/i.test(bare) || !URL.canParse(`http://${bare}`)) return null;
  const { hostname } = new URL(`http://${bare}`);
  return isIP(hostname) === 4 ? hostname : null;
}
