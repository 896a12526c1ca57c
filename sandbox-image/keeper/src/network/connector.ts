import { createSocket } from 'node:dgram';
import { connect, isIPv6 } from 'node:net';
import type { Target } from '../config.ts';

/** Tries to reach one target: null when it was reached, else the errno name. */
export type Connector = (target: Target, timeoutMs: number) => Promise<string | null>;

/** Real sockets. A refusal counts as unreachable: policy enforcers answer with drops or with resets. */
export const systemConnector: Connector = (target, timeoutMs) =>
  target.by === 'DNS' ? askName(target, timeoutMs) : connectTcp(target, timeoutMs);

function connectTcp(target: Target, timeoutMs: number): Promise<string | null> {
  return new Promise((resolve) => {
    const socket = connect({ host: target.host, port: target.port });
    const finish = (error: string | null): void => {
      socket.destroy();
      resolve(error);
    };
    socket.setTimeout(timeoutMs, () => finish('ETIMEDOUT'));
    socket.once('connect', () => finish(null));
    socket.once('error', (error: NodeJS.ErrnoException) => finish(error.code ?? 'EIO'));
  });
}

/** The name servers of the root, asked with recursion: every DNS server answers something. RFC 1035, 4.1. */
const question = Buffer.from('af1e010000010000000000000000020001', 'hex');

function askName({ host, port }: Target, timeoutMs: number): Promise<string | null> {
  return new Promise((resolve) => {
    const socket = createSocket(isIPv6(host) ? 'udp6' : 'udp4');
    let timer: NodeJS.Timeout | undefined;
    const finish = (error: string | null): void => {
      clearTimeout(timer);
      socket.removeAllListeners().on('error', () => undefined);
      socket.close();
      resolve(error);
    };
    timer = setTimeout(() => finish('ETIMEDOUT'), timeoutMs);
    socket.once('error', (error: NodeJS.ErrnoException) => finish(error.code ?? 'EIO'));
    // Connected, so that only this server is heard, and its refusals are.
    socket.connect(port, host, () => socket.send(question));
    socket.once('message', () => finish(null));
  });
}
