import type { Readable } from 'node:stream';
import type { Kubectl } from './kubectl.ts';

/** A local port that leads to a port of a pod. */
export interface PortForward {
  readonly url: string;
  close(): Promise<void>;
}

/** Opens a port-forward and resolves when kubectl says that it listens. */
export async function portForward(kubectl: Kubectl, namespace: string, pod: string, port: number): Promise<PortForward> {
  const child = kubectl.spawn(['-n', namespace, 'port-forward', `pod/${pod}`, `:${port}`]);
  const ended = child.then(
    () => 'ended',
    (error: Error) => error.message,
  );
  const local = await Promise.race([
    listeningPort(child.stdout as Readable),
    ended.then((why) => {
      throw new Error(`port-forward to ${namespace}/${pod}: ${why}`);
    }),
  ]);
  return {
    url: `http://127.0.0.1:${local}`,
    close: async () => {
      child.kill('SIGTERM');
      await ended;
    },
  };
}

/** Reads kubectl's words up to the port. The pipe stays open: kubectl dies when it cannot print. */
function listeningPort(stdout: Readable): Promise<number> {
  return new Promise((resolve, reject) => {
    let seen = '';
    stdout.setEncoding('utf8');
    stdout.on('data', (text: string) => {
      seen = (seen + text).slice(-4096);
      const match = /Forwarding from 127\.0\.0\.1:(\d+)/.exec(seen);
      if (match?.[1] !== undefined) resolve(Number(match[1]));
    });
    stdout.on('end', () => reject(new Error(`port-forward named no port: ${seen}`)));
  });
}
