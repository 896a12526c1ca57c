// hack, sandbox: local port that leads to a pod, with restarts. Imports operator, keeper's client and protocol.
import type { Readable } from 'node:stream';
import { setTimeout as sleep } from 'node:timers/promises';
import type { Kubectl } from './kubectl.ts';

/** A local port that leads to a port of a pod. */
export interface PortForward {
  readonly url: string;
  close(): Promise<void>;
}

/**
 * Opens a port-forward and resolves when kubectl reports that it listens. kubectl exits when its container is gone; it
 * is started again on the same local port until `close`.
 */
export async function portForward(kubectl: Kubectl, namespace: string, pod: string, port: number): Promise<PortForward> {
  const stop = new AbortController();
  const start = (local: number | ''): Forward => forward(kubectl, namespace, pod, `${local}:${port}`);
  let current = start('');
  const local = await current.listening;
  const kept = (async () => {
    while (!stop.signal.aborted) {
      await current.ended;
      if (stop.signal.aborted) return;
      await sleep(restartMs);
      current = start(local);
      await current.listening.catch(() => undefined);
    }
  })();
  return {
    url: `http://127.0.0.1:${local}`,
    close: async () => {
      stop.abort();
      current.kill();
      await kept;
    },
  };
}

const restartMs = 200;

interface Forward {
  /** Resolves with the local port; rejects with kubectl's words when it ends before that. */
  readonly listening: Promise<number>;
  readonly ended: Promise<string>;
  kill(): void;
}

function forward(kubectl: Kubectl, namespace: string, pod: string, ports: string): Forward {
  const child = kubectl.spawn(['-n', namespace, 'port-forward', `pod/${pod}`, ports]);
  const ended = child.then(
    () => 'ended',
    (error: Error) => error.message,
  );
  const failed = ended.then((why) => {
    throw new Error(`port-forward to ${namespace}/${pod}: ${why}`);
  });
  const listening = Promise.race([listeningPort(child.stdout as Readable), failed]);
  failed.catch(() => undefined); // after it listened, the loop above sees the end
  return { listening, ended, kill: () => void child.kill('SIGTERM') };
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
