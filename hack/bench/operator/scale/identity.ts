// hack, bench/operator/scale: certificate and token of a fake API server. May import any package.
import { execFile } from 'node:child_process';
import { mkdir, readFile, writeFile } from 'node:fs/promises';
import { join } from 'node:path';
import { promisify } from 'node:util';

const run = promisify(execFile);

/** Access of a pod to its API server, and identity of that server: a token that is no secret, a certificate for a day. */
export interface Identity {
  /** Folder in the form of a mounted ServiceAccount. */
  readonly folder: string;
  readonly key: string;
  readonly cert: string;
  readonly token: string;
}

/** Makes the identity in a folder. */
export async function makeIdentity(folder: string): Promise<Identity> {
  await mkdir(folder, { recursive: true });
  const [key, cert, token] = [join(folder, 'key.pem'), join(folder, 'ca.crt'), 'bench'];
  const subject = ['-subj', '/CN=bench', '-addext', 'subjectAltName=IP:127.0.0.1', '-days', '1'];
  await run('openssl', [
    'req',
    '-x509',
    '-newkey',
    'ec',
    '-pkeyopt',
    'ec_paramgen_curve:P-256',
    '-nodes',
    '-keyout',
    key,
    '-out',
    cert,
    ...subject,
  ]);
  await writeFile(join(folder, 'token'), token);
  return { folder, key: await readFile(key, 'utf8'), cert: await readFile(cert, 'utf8'), token };
}
