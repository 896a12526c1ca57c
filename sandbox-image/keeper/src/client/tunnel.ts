import { request, type IncomingMessage } from 'node:http';
import { connect } from 'node:net';
import type { Duplex } from 'node:stream';
import { egressUpgrade } from '@agentfleet/protocol/keeper';
import { readWhole } from './answer.ts';
import { maxRefusalBytes } from './bounds.ts';
import { KeeperRefusal } from './errors.ts';

/** How long the keeper may take to answer, ms. */
const answerMs = 15_000;

/** Asks for an upgrade on a connection of its own. Rejects with {@link KeeperRefusal}, or when nobody answers. */
export function openTunnel(url: URL, headers: Readonly<Record<string, string>>, signal?: AbortSignal): Promise<Duplex> {
  const { promise, resolve, reject } = Promise.withResolvers<Duplex>();
  const host = url.hostname.replace(/^\[(.*)\]$/, '$1');
  const asked = request(url, {
    method: 'POST',
    headers: { ...headers, connection: 'upgrade', upgrade: egressUpgrade, 'content-length': 0 },
    // No agent, so that this is used: a direction that ended must not end the other one.
    createConnection: () => connect({ host, port: Number(url.port), allowHalfOpen: true, keepAlive: true, keepAliveInitialDelay: 30_000 }),
    ...(signal === undefined ? {} : { signal }),
  });
  const late = Object.assign(new Error(`the keeper did not answer within ${answerMs / 1000} s`), { code: 'ETIMEDOUT' });
  // All of the answer in that time, not only the next byte of it.
  const timer = setTimeout(() => asked.destroy(late), answerMs);
  asked.once('close', () => clearTimeout(timer));
  asked.once('error', reject);
  asked.once('upgrade', (_answer, socket: Duplex, head: Buffer) => {
    clearTimeout(timer);
    socket.on('error', () => undefined); // its close tells
    if (head.length > 0) socket.unshift(head);
    resolve(socket);
  });
  asked.once('response', (answer) => void refusalOf(answer).then(reject, reject));
  asked.end();
  return promise;
}

async function refusalOf(answer: IncomingMessage): Promise<KeeperRefusal> {
  const said = await readWhole(answer, '/v1/egress', maxRefusalBytes);
  return KeeperRefusal.from(answer.statusCode ?? 0, said.toString('utf8'));
}
