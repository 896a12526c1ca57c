import { spawn, type ChildProcess } from 'node:child_process';
import { once } from 'node:events';
import { mkdtemp, rm, writeFile } from 'node:fs/promises';
import { tmpdir } from 'node:os';
import { join } from 'node:path';
import { execPath } from 'node:process';
import { createInterface } from 'node:readline';
import { afterEach, beforeEach, describe, expect, it } from 'vitest';
import { leases } from '@agentfleet/kube';
import { eventually, workerConfig, WorkerBed } from './testing/bed.ts';

let folder: string;
let child: ChildProcess | null = null;
beforeEach(async () => {
  folder = await mkdtemp(join(tmpdir(), 'worker-'));
});
afterEach(async () => {
  child?.kill('SIGKILL');
  await rm(folder, { recursive: true });
});

function start(env: Readonly<Record<string, string>>): ChildProcess {
  child = spawn(execPath, [join(import.meta.dirname, 'main.ts')], { env, stdio: ['ignore', 'pipe', 'pipe'] });
  return child;
}

/** Returns the port of its probes. Its log is read on, because an unread pipe ends the process. */
function portOf(process: ChildProcess): Promise<number> {
  return new Promise((resolve, reject) => {
    createInterface({ input: process.stdout as NonNullable<typeof process.stdout> }).on('line', (line) => {
      const record = JSON.parse(line) as { readonly msg: string; readonly port: number };
      if (record.msg === 'listening') resolve(record.port);
    });
    process.once('exit', () => reject(new Error('it ended before it listened')));
  });
}

async function kubeconfig(server: string): Promise<string> {
  const file = join(folder, 'kubeconfig');
  const config = {
    apiVersion: 'v1',
    kind: 'Config',
    'current-context': 'c',
    clusters: [{ name: 'c', cluster: { server, 'insecure-skip-tls-verify': true } }],
    contexts: [{ name: 'c', context: { cluster: 'c', user: 'u' } }],
    users: [{ name: 'u', user: {} }],
  };
  await writeFile(file, JSON.stringify(config));
  return file;
}

describe('the process', () => {
  it('gets ready with engine, brief and lease, and on SIGTERM takes its lease away', async () => {
    await using bed = await WorkerBed.open();
    const { pod, serviceAccount, brief } = workerConfig;
    const process = start({
      KUBECONFIG: await kubeconfig(bed.server.url),
      POD_NAME: pod.name,
      POD_NAMESPACE: pod.namespace,
      POD_UID: bed.podUid,
      AGENTFLEET_SERVICE_ACCOUNT: serviceAccount,
      AGENTFLEET_POOL_CONFIGMAP: brief,
      AGENTFLEET_PORT: '0',
      AGENTFLEET_AUTHENTICATION: 'None',
    });
    const port = await portOf(process);
    const ended = once(process, 'exit');
    let ready = 0;
    await eventually('it is ready', () => {
      fetch(`http://127.0.0.1:${port}/readyz`).then(
        (answer) => (ready = answer.status),
        () => undefined,
      );
      return ready === 200;
    });
    expect(bed.server.objects(leases)).toHaveLength(1);
    process.kill('SIGTERM');
    expect(await ended).toEqual([0, null]);
    expect(bed.server.objects(leases)).toEqual([]);
  });

  it('reports every fault of its environment and does not start', async () => {
    const process = start({});
    let words = '';
    process.stderr?.setEncoding('utf8').on('data', (text: string) => (words += text));
    expect(await once(process, 'close')).toEqual([1, null]);
    expect(words).toMatch(/POD_NAME: it is missing.*AGENTFLEET_POOL_CONFIGMAP: it is missing/s);
  });
});
