import type { IncomingMessage, Server } from 'node:http';
import type { Duplex } from 'node:stream';
import { egressUpgrade, epochHeader } from '@agentfleet/protocol/keeper';
import { asKeeperError, KeeperError } from '../failure.ts';
import type { Keeper } from '../keeper.ts';
import { errorFields } from '../logger.ts';

/** Turns `POST /v1/egress` into tunnels. The framework knows no upgrades, so that all of them come here. */
export function egressUpgrades(server: Server, keeper: Keeper): void {
  server.on('upgrade', (request: IncomingMessage, socket: Duplex, head: Buffer) => {
    socket.on('error', () => undefined); // whoever asked is gone
    upgrade(keeper, request, socket, head).catch((error: unknown) => refuse(keeper, socket, error));
  });
}

async function upgrade(keeper: Keeper, request: IncomingMessage, socket: Duplex, head: Buffer): Promise<void> {
  const { egress, fence } = keeper.parts;
  const path = (request.url ?? '').slice(0, 200);
  if (request.method !== 'POST' || path !== '/v1/egress') {
    throw new KeeperError('AF_NOT_FOUND', `there is no upgrade of ${request.method ?? ''} ${path}`);
  }
  if (request.headers.upgrade !== egressUpgrade) throw new KeeperError('AF_INVALID', `the upgrade is not ${egressUpgrade}`);
  await keeper.authenticate(request.headers.authorization);
  const header = request.headers[epochHeader];
  const epoch = await keeper.admit(Array.isArray(header) ? header[0] : header);
  if (head.length > 0) throw new KeeperError('AF_INVALID', 'bytes came before the answer; wait for it');
  await egress.admit();
  fence.assert(epoch);
  socket.write(`HTTP/1.1 101 Switching Protocols\r\nConnection: Upgrade\r\nUpgrade: ${egressUpgrade}\r\n\r\n`);
  egress.park(socket, epoch);
}

function refuse(keeper: Keeper, socket: Duplex, error: unknown): void {
  const failure = asKeeperError(error);
  if (failure.code === 'AF_INTERNAL') keeper.parts.logger.error('an upgrade failed', errorFields(failure));
  const body = JSON.stringify(failure.body);
  const fields = ['content-type: application/json', `content-length: ${Buffer.byteLength(body)}`, 'connection: close'];
  socket.end(`HTTP/1.1 ${failure.status} Refused\r\n${fields.join('\r\n')}\r\n\r\n${body}`, () => void socket.destroy());
}
