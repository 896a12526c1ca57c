import type { Server } from 'node:http';
import { BlockList, type Socket } from 'node:net';
import { networkInterfaces } from 'node:os';

const maxFromInside = 32;

/**
 * User code shares the pod's network and so reaches the keeper's port. It has no token, but it
 * could hold all connections: those that come from the pod itself are limited.
 */
export function limitInsideConnections(server: Server): void {
  let inside = 0;
  server.on('connection', (socket: Socket) => {
    if (!isInside(socket.remoteAddress, socket.localAddress, ownAddresses)) return;
    if (inside >= maxFromInside) {
      socket.destroy();
      return;
    }
    inside += 1;
    socket.once('close', () => {
      inside -= 1;
    });
  });
}

const loopback = new BlockList();
loopback.addSubnet('127.0.0.0', 8, 'ipv4');
loopback.addAddress('::1', 'ipv6');

/**
 * Whether a connection has both ends in this pod. The client chooses its own address: any of
 * 127.0.0.0/8, or one of the pod's, whichever it calls. A socket that is gone already counts.
 */
export function isInside(remote: string | undefined, local: string | undefined, own: () => ReadonlySet<string>): boolean {
  if (remote === undefined || local === undefined || remote === local) return true;
  const [from, to] = [plain(remote), plain(local)];
  return isLoopback(from) || isLoopback(to) || own().has(from);
}

function isLoopback(address: string): boolean {
  return loopback.check(address, address.includes(':') ? 'ipv6' : 'ipv4');
}

/** Without the prefix of an IPv4 address on an IPv6 socket, and without the zone. */
function plain(address: string): string {
  return address.replace(/^::ffff:(?=[\d.]+$)/i, '').replace(/%.*$/, '');
}

function ownAddresses(): ReadonlySet<string> {
  return new Set(Object.values(networkInterfaces()).flatMap((all) => (all ?? []).map(({ address }) => address)));
}
