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
    listeningPort(child.stdout as AsyncIterable<Buffer>),
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

async function listeningPort(stdout: AsyncIterable<Buffer>): Promise<number> {
  let seen = '';
  for await (const chunk of stdout) {
    seen += chunk.toString('utf8');
    const match = /Forwarding from 127\.0\.0\.1:(\d+)/.exec(seen);
    if (match?.[1] !== undefined) return Number(match[1]);
  }
  throw new Error(`port-forward said no port: ${seen}`);
}
