import { connect } from 'node:net';
import type { Target } from '../config.ts';

/** Tries one TCP connection: null when it was accepted, else the errno name. */
export type Connector = (target: Target, timeoutMs: number) => Promise<string | null>;

/** Real sockets. A refusal counts as unreachable: policy enforcers answer with drops or with resets. */
export const tcpConnector: Connector = (target, timeoutMs) =>
  new Promise((resolve) => {
    const socket = connect({ host: target.host, port: target.port });
    const finish = (error: string | null): void => {
      socket.destroy();
      resolve(error);
    };
    socket.setTimeout(timeoutMs, () => finish('ETIMEDOUT'));
    socket.once('connect', () => finish(null));
    socket.once('error', (error: NodeJS.ErrnoException) => finish(error.code ?? 'EIO'));
  });
