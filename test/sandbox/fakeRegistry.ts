import { createHash } from 'node:crypto';
import { execFile } from 'node:child_process';
import { mkdir, mkdtemp, readFile, rm, writeFile } from 'node:fs/promises';
import { createServer } from 'node:https';
import type { AddressInfo } from 'node:net';
import { networkInterfaces, tmpdir } from 'node:os';
import { join } from 'node:path';
import { promisify } from 'node:util';
import { certificate } from '../../agent-image/src/egress/testing/sockets.ts';

export const registryHost = 'registry.example';

/** Serves its own packages over https, under names that only `resolve` knows. */
export interface FakeRegistry extends AsyncDisposable {
  readonly port: number;
  readonly url: string;
  /** PEM of the certificate that it shows. */
  readonly ca: string;
  /** Paths that were asked for. */
  readonly asked: readonly string[];
  /** Sets the answer of a path. */
  serve(path: string, body: string | Buffer, type?: string): void;
  resolve(name: string): Promise<readonly string[]>;
}

/** A registry on this machine's address, which a worker may dial and a sandbox may not. */
export async function fakeRegistry(): Promise<FakeRegistry> {
  const pair = await certificate([registryHost]);
  const answers = new Map<string, { readonly body: string | Buffer; readonly type: string }>();
  const asked: string[] = [];
  const server = createServer(pair, (request, response) => {
    const path = (request.url ?? '').replace(/\?.*$/, '');
    asked.push(path);
    const answer = answers.get(path);
    response.writeHead(answer === undefined ? 404 : 200, { 'content-type': answer?.type ?? 'text/plain' });
    response.end(answer?.body ?? 'not here\n');
  });
  await new Promise<void>((done) => server.listen(0, '0.0.0.0', done));
  const { port } = server.address() as AddressInfo;
  const own = Object.values(networkInterfaces())
    .flat()
    .find((one) => one?.family === 'IPv4' && !one.internal);
  return {
    port,
    url: `https://${registryHost}:${port}/`,
    ca: pair.cert,
    asked,
    serve: (path, body, type = 'application/octet-stream') => void answers.set(path, { body, type }),
    resolve: (name) =>
      name.endsWith('.example') ? Promise.resolve([own?.address ?? '127.0.0.1']) : Promise.reject(new Error(`${name} is not known here`)),
    async [Symbol.asyncDispose]() {
      server.closeAllConnections();
      await new Promise((done) => server.close(done));
    },
  };
}

/** A package as npm publishes it: an archive, and the hash that a lock holds. */
export async function npmPackage(
  name: string,
  version: string,
  source: string,
): Promise<{ readonly archive: Buffer; readonly integrity: string }> {
  const folder = await mkdtemp(join(tmpdir(), 'npm-package-'));
  await mkdir(join(folder, 'package'));
  await writeFile(join(folder, 'package/package.json'), JSON.stringify({ name, version, type: 'module', exports: './index.js' }));
  await writeFile(join(folder, 'package/index.js'), source);
  await promisify(execFile)('tar', ['-C', folder, '-czf', join(folder, 'package.tgz'), 'package']);
  const archive = await readFile(join(folder, 'package.tgz'));
  await rm(folder, { recursive: true });
  return { archive, integrity: `sha512-${createHash('sha512').update(archive).digest('base64')}` };
}
