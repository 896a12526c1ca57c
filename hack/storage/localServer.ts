import { freePort } from '../cluster/base/ports.ts';
import { randomBytes } from 'node:crypto';
import { mkdir, mkdtemp, rm, writeFile } from 'node:fs/promises';
import { tmpdir } from 'node:os';
import { join } from 'node:path';
import { setTimeout as sleep } from 'node:timers/promises';
import { execa } from 'execa';

/** An S3 server on this machine, for tests. */
export interface LocalServer {
  readonly endpoint: string;
  /** The bucket that there is. */
  readonly bucket: string;
  readonly credentialFile: string;
  /** Ends the server and removes its data. */
  close(): Promise<void>;
}

const bucket = 'agents';
const maxWaitMs = 20_000;

/** Starts the server `binary` on a temporary folder and resolves when it answers. */
export async function startLocalServer(binary: string): Promise<LocalServer> {
  const folder = await mkdtemp(join(tmpdir(), 'agentfleet-s3-'));
  await mkdir(join(folder, 'root', bucket), { recursive: true });
  const [id, secret] = [randomBytes(8).toString('hex'), randomBytes(24).toString('hex')];
  const credentialFile = join(folder, 'credential');
  await writeFile(credentialFile, `${id}:${secret}\n`, { mode: 0o600 });
  const address = `127.0.0.1:${await freePort()}`;
  const env = { ROOT_ACCESS_KEY: id, ROOT_SECRET_KEY: secret };
  const args = ['--port', address, '--health', '/healthz', '--quiet', 'posix', join(folder, 'root')];
  const child = execa(binary, args, { env, stdin: 'ignore', cleanup: true, reject: false });
  const close = async (): Promise<void> => {
    child.kill('SIGTERM');
    await child;
    await rm(folder, { recursive: true, force: true });
  };
  try {
    await answers(`http://${address}/healthz`, child);
  } catch (error) {
    await close();
    throw error;
  }
  return { endpoint: `http://${address}`, bucket, credentialFile, close };
}

async function answers(url: string, child: PromiseLike<{ readonly stderr: string }>): Promise<void> {
  let ended: string | undefined;
  void child.then(({ stderr }) => (ended = stderr));
  for (const until = performance.now() + maxWaitMs; performance.now() < until; await sleep(20)) {
    if (ended !== undefined) throw new Error(`the S3 server has ended: ${ended.slice(-500)}`);
    const healthy = await fetch(url).then(
      (response) => response.ok,
      () => false,
    );
    if (healthy) return;
  }
  throw new Error(`no answer of the S3 server at ${url} within ${maxWaitMs / 1000} s`);
}
