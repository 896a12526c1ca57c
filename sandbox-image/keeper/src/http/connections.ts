import type { Server } from 'node:http';
import type { Socket } from 'node:net';

const maxFromInside = 32;

/**
 * User code shares the pod's network and so reaches the keeper's port. It has no token, but it
 * could hold all connections: those that come from the pod itself are limited.
 */
export function limitInsideConnections(server: Server): void {
  let inside = 0;
  server.on('connection', (socket: Socket) => {
    if (socket.remoteAddress !== socket.localAddress) return;
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
