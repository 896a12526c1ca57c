import { BlockList, isIP } from 'node:net';

/**
 * Whether an address is where no allowed name may lead: the worker itself, its link, metadata services (which are link-local
 * or one of the fixed addresses), and what the caller adds, such as the API server.
 */
export function createAddressGuard(more: readonly string[]): (address: string) => boolean {
  const list = new BlockList();
  for (const [net, bits] of [
    ['0.0.0.0', 8],
    ['127.0.0.0', 8],
    ['169.254.0.0', 16],
    ['224.0.0.0', 4],
    ['240.0.0.0', 4],
  ] as const)
    list.addSubnet(net, bits, 'ipv4');
  list.addAddress('100.100.100.200', 'ipv4');
  list.addAddress('168.63.129.16', 'ipv4');
  for (const [net, bits] of [
    ['::', 127],
    ['fe80::', 10],
    ['ff00::', 8],
    ['fd00:ec2::254', 128],
  ] as const)
    list.addSubnet(net, bits, 'ipv6');
  for (const address of more) if (isIP(address) !== 0) list.addAddress(address, isIP(address) === 6 ? 'ipv6' : 'ipv4');
  return (address) => {
    const version = isIP(address);
    if (version === 0) return true;
    // BlockList sees an IPv4 address behind ::ffff: by itself.
    return list.check(address, version === 6 ? 'ipv6' : 'ipv4');
  };
}
