import { generateKeyPair } from 'node:crypto';
import { existsSync } from 'node:fs';
import { chmod, mkdir, readFile, writeFile } from 'node:fs/promises';
import { join } from 'node:path';
import { promisify } from 'node:util';
import { dump } from 'js-yaml';
import { execa } from 'execa';
import type { Layout } from '../base/layout.ts';
import { network } from '../base/network.ts';

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

/** Authorities, separate so that no client of the API server can talk to etcd, or assert a user to extension servers. */
type AuthorityName = 'ca' | 'etcd-ca' | 'front-proxy-ca';

/** One certificate to issue. Organisations are groups and the common name is the user for the API server. */
interface CertificateSpec {
  readonly name: string;
  readonly authority: AuthorityName;
  readonly commonName: string;
  readonly organization?: string;
  readonly dns?: readonly string[];
  readonly ips?: readonly string[];
}

/** The authorities themselves. */
export const authorities: readonly { readonly name: AuthorityName; readonly commonName: string }[] = [
  { name: 'ca', commonName: 'agentfleet-ca' },
  { name: 'etcd-ca', commonName: 'agentfleet-etcd-ca' },
  { name: 'front-proxy-ca', commonName: 'agentfleet-front-proxy-ca' },
];

/** Identity of the API server for extension servers. */
export const frontProxy = 'front-proxy-client';

/** All certificates of a cluster on this host. Each daemon has its own user with the rights that Kubernetes gives to it. */
export function certificates(host: { readonly nodeName: string; readonly address: string }): CertificateSpec[] {
  const service = ['kubernetes', 'kubernetes.default', 'kubernetes.default.svc', 'kubernetes.default.svc.cluster.local'];
  const client = (name: string, commonName: string, organization?: string): CertificateSpec => ({
    name,
    authority: 'ca',
    commonName,
    ...(organization === undefined ? {} : { organization }),
  });
  return [
    {
      ...client('apiserver', 'kube-apiserver'),
      dns: [...service, 'localhost'],
      ips: ['127.0.0.1', network.apiServiceIp, host.address],
    },
    { ...client('kubelet', `system:node:${host.nodeName}`, 'system:nodes'), dns: [host.nodeName], ips: [host.address] },
    client('apiserver-kubelet', 'agentfleet:apiserver', 'system:masters'),
    client('admin', 'agentfleet:admin', 'system:masters'),
    client('controller-manager', 'system:kube-controller-manager'),
    client('scheduler', 'system:kube-scheduler'),
    client('kube-proxy', 'system:kube-proxy'),
    client('kube-router', 'agentfleet:kube-router'),
    { name: 'etcd', authority: 'etcd-ca', commonName: 'etcd', dns: ['localhost'], ips: ['127.0.0.1'] },
    { name: 'apiserver-etcd', authority: 'etcd-ca', commonName: 'kube-apiserver' },
    { name: frontProxy, authority: 'front-proxy-ca', commonName: frontProxy },
  ];
}

/** The users that get a kubeconfig of the same name. */
export const kubeconfigUsers = ['admin', 'controller-manager', 'scheduler', 'kubelet', 'kube-proxy', 'kube-router'] as const;

function requestConfig(subject: readonly string[], extensions: readonly string[]): string {
  const request = ['[req]', 'prompt = no', 'string_mask = utf8only', 'distinguished_name = subject', 'x509_extensions = extensions'];
  return `${[...request, '[subject]', ...subject, '[extensions]', ...extensions].join('\n')}\n`;
}

/** The openssl configuration of an authority. Key identifiers are there because strict clients refuse chains without them. */
function authorityConfig(commonName: string): string {
  return requestConfig(
    [`CN = ${commonName}`],
    ['basicConstraints = critical,CA:TRUE', 'keyUsage = critical,keyCertSign,cRLSign,digitalSignature', 'subjectKeyIdentifier = hash'],
  );
}

/** The openssl configuration of a certificate. */
export function certificateConfig(spec: CertificateSpec): string {
  const names = [...(spec.dns ?? []).map((name) => `DNS:${name}`), ...(spec.ips ?? []).map((ip) => `IP:${ip}`)];
  return requestConfig(
    [...(spec.organization === undefined ? [] : [`O = ${spec.organization}`]), `CN = ${spec.commonName}`],
    [
      'basicConstraints = critical,CA:FALSE',
      'keyUsage = critical,digitalSignature',
      `extendedKeyUsage = ${names.length > 0 ? 'serverAuth,clientAuth' : 'clientAuth'}`,
      'subjectKeyIdentifier = hash',
      'authorityKeyIdentifier = keyid:always',
      ...(names.length > 0 ? [`subjectAltName = ${names.join(',')}`] : []),
    ],
  );
}
