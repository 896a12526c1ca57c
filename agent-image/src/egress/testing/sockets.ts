import { execFile } from 'node:child_process';
import { once } from 'node:events';
import { mkdtemp, readFile, rm } from 'node:fs/promises';
import { createServer, connect, type AddressInfo, type Server, type Socket } from 'node:net';
import { tmpdir } from 'node:os';
import { join } from 'node:path';
import { promisify } from 'node:util';

/** For tests only: returns a certificate for some names. */
export async function certificate(names: readonly string[]): Promise<{ readonly key: string; readonly cert: string }> {
  const folder = await mkdtemp(join(tmpdir(), 'certificate-'));
  const [key, cert] = [join(folder, 'key'), join(folder, 'cert')];
  const alternative = names.map((name) => (/^[\d.]+$/.test(name) ? `IP:${name}` : `DNS:${name}`)).join(',');
  const kind = ['-x509', '-newkey', 'ec', '-pkeyopt', 'ec_paramgen_curve:P-256', '-nodes', '-days', '2'];
  const args = [
    'req',
    ...kind,
    '-subj',
    `/CN=${names[0] ?? 'test'}`,
    '-addext',
    `subjectAltName=${alternative}`,
    '-keyout',
    key,
    '-out',
    cert,
  ];
  await promisify(execFile)('openssl', args);
  const pair = { key: await readFile(key, 'utf8'), cert: await readFile(cert, 'utf8') };
  await rm(folder, { recursive: true });
  return pair;
}

/** Listens on a free port of the loopback. */
export async function listening(server: Server): Promise<number> {
  server.listen(0, '127.0.0.1');
  await once(server, 'listening');
  return (server.address() as AddressInfo).port;
}

/** Both ends of a connection, each of which may end its direction first. */
export async function socketPair(): Promise<readonly [Socket, Socket]> {
  const server = createServer({ allowHalfOpen: true });
  const port = await listening(server);
  const accepted = once(server, 'connection');
  const near = connect({ port, host: '127.0.0.1', allowHalfOpen: true });
  const [far] = (await accepted) as [Socket];
  server.close();
  return [near, far];
}

/** Reads all text until the peer has ended. */
export async function textOf(socket: NodeJS.ReadableStream): Promise<string> {
  // An iterator would destroy the socket at its end, and so its other direction.
  const parts: Buffer[] = [];
  socket.on('data', (part: Buffer) => parts.push(part));
  socket.resume();
  await Promise.race([once(socket, 'end'), once(socket, 'close')]);
  return Buffer.concat(parts).toString('utf8');
}
