import { once } from 'node:events';
import { createServer, type AddressInfo, type Socket } from 'node:net';
import type { Clock } from '@agentfleet/kube';
import { serveTunnel, type EgressRequest } from './connection.ts';
import type { Dialer } from './dial.ts';

/** A proxy of the worker for a program that it runs itself. */
export type LocalProxy = Awaited<ReturnType<typeof openLocalProxy>>;

/**
 * Listens on a free port of the loopback and connects to every destination that the dialer's rules allow: redirects of
 * a server are judged like the first request. A caller of the port reaches no more than the program itself.
 */
export async function openLocalProxy(dialer: Dialer, { clock, signal }: { clock: Clock; signal: AbortSignal }) {
  const ending = new AbortController();
  const sockets = new Set<Socket>();
  let fault: EgressRequest | undefined;
  const onRequest = (request: EgressRequest): void => {
    if (request.decision !== 'Allowed') fault = request;
  };
  const served = { hosts: { has: () => true }, listedIn: '', dialer, clock, onTaken: () => undefined, onRequest };
  const server = createServer({ allowHalfOpen: true }, (socket) => {
    sockets.add(socket);
    void serveTunnel(socket, { ...served, signal: AbortSignal.any([signal, ending.signal]) }).then(() => sockets.delete(socket));
  });
  server.listen(0, '127.0.0.1');
  await once(server, 'listening');
  return {
    url: `http://127.0.0.1:${(server.address() as AddressInfo).port}`,
    /** Returns the request that was refused or could not be served since the last call, the latest of several. */
    takeFault() {
      const taken = fault;
      fault = undefined;
      return taken;
    },
    async close() {
      ending.abort();
      for (const socket of sockets) socket.destroy();
      await new Promise((resolve) => server.close(resolve));
    },
  };
}
