import { generateKeyPair } from 'node:crypto';
import { existsSync } from 'node:fs';
import { chmod, mkdir, readFile, writeFile } from 'node:fs/promises';
import { join } from 'node:path';
import { promisify } from 'node:util';
import { dump } from 'js-yaml';
import { execa } from 'execa';
import type { Layout } from '../base/layout.ts';
import { authorities, authorityConfig, certificateConfig, certificates, kubeconfigUsers, type CertificateSpec } from './certificates.ts';

/** Days until a certificate ends. A development cluster that gets this old is made again by `down` and `up`. */
const validDays = 730;

async function issue(dir: string, name: string, config: string, signer: readonly string[]): Promise<boolean> {
  const configPath = join(dir, `${name}.cnf`);
  const [cert, key] = [join(dir, `${name}.crt`), join(dir, `${name}.key`)];
  const before = await readFile(configPath, 'utf8').catch(() => '');
  if (before === config && existsSync(cert) && existsSync(key)) return false;
  const newKey = ['-newkey', 'ec', '-pkeyopt', 'ec_paramgen_curve:P-256', '-noenc', '-keyout', key];
  await writeFile(`${configPath}.new`, config);
  await execa('openssl', ['req', '-x509', '-config', `${configPath}.new`, '-days', String(validDays), ...newKey, ...signer, '-out', cert]);
  await chmod(key, 0o600);
  await writeFile(configPath, config); // last: its presence shows that the pair is complete
  return true;
}

async function issueSigned(dir: string, spec: CertificateSpec, authorityChanged: boolean): Promise<void> {
  const authority = join(dir, spec.authority);
  if (authorityChanged) await writeFile(join(dir, `${spec.name}.cnf`), '');
  await issue(dir, spec.name, certificateConfig(spec), ['-CA', `${authority}.crt`, '-CAkey', `${authority}.key`]);
}

async function serviceAccountKey(dir: string): Promise<void> {
  const path = join(dir, 'service-accounts.key');
  if (existsSync(path)) return;
  // RSA and not ECDSA: verifiers of projected tokens may count on RS256.
  const { privateKey } = await promisify(generateKeyPair)('rsa', { modulusLength: 2048 });
  await writeFile(path, privateKey.export({ type: 'pkcs8', format: 'pem' }), { mode: 0o600 });
}

/** A kubeconfig with one cluster, user and context; certificates are inside, so the file works from anywhere. */
export function kubeconfig(server: string, user: string, pem: { ca: Buffer; cert: Buffer; key: Buffer }): string {
  const name = 'agentfleet';
  return dump({
    apiVersion: 'v1',
    kind: 'Config',
    'current-context': name,
    clusters: [{ name, cluster: { server, 'certificate-authority-data': pem.ca.toString('base64') } }],
    users: [
      { name: user, user: { 'client-certificate-data': pem.cert.toString('base64'), 'client-key-data': pem.key.toString('base64') } },
    ],
    contexts: [{ name, context: { cluster: name, user } }],
  });
}

async function writeKubeconfig(layout: Layout, user: string, server: string): Promise<void> {
  const [ca, cert, key] = await Promise.all(['ca.crt', `${user}.crt`, `${user}.key`].map((file) => readFile(join(layout.pki, file))));
  const text = kubeconfig(server, user, { ca: ca as Buffer, cert: cert as Buffer, key: key as Buffer });
  const path = user === 'admin' ? layout.kubeconfig : join(layout.pki, `${user}.kubeconfig`);
  if ((await readFile(path, 'utf8').catch(() => '')) === text) return;
  await writeFile(path, text, { mode: 0o600 });
}

/**
 * Makes missing authorities, certificates, the service-account key and kubeconfigs. A certificate whose specification
 * changed (for example a new address of the host) is issued again under the same authority.
 */
export async function ensurePki(layout: Layout, host: { nodeName: string; address: string }, apiPort: number): Promise<void> {
  const dir = layout.pki;
  await mkdir(dir, { recursive: true, mode: 0o700 });
  const changed = new Map<string, boolean>();
  const making = authorities.map(async ({ name, commonName }) =>
    changed.set(name, await issue(dir, name, authorityConfig(commonName), [])),
  );
  await Promise.all([...making, serviceAccountKey(dir)]);
  await Promise.all(certificates(host).map((spec) => issueSigned(dir, spec, changed.get(spec.authority) ?? false)));
  await Promise.all(kubeconfigUsers.map((user) => writeKubeconfig(layout, user, `https://127.0.0.1:${apiPort}`)));
}
