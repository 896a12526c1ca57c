import { spawn, type ChildProcess } from 'node:child_process';
import { generateKeyPairSync, randomUUID } from 'node:crypto';
import { once } from 'node:events';
import { mkdtemp, open, readFile, rm, writeFile } from 'node:fs/promises';
import { createServer, type AddressInfo } from 'node:net';
import { tmpdir } from 'node:os';
import { join } from 'node:path';
import { createTransport, isKubeError, type ClusterConfig } from '@agentfleet/kube';

/** An API server and its etcd, without controllers, as envtest starts them. */
export interface Assets {
  readonly config: ClusterConfig;
  /** Kills the API server and starts it again on the same port; resolves when it is ready. */
  restart(): Promise<void>;
  stop(): Promise<void>;
}

async function freePorts(count: number): Promise<number[]> {
  const servers = Array.from({ length: count }, () => createServer().listen(0, '127.0.0.1'));
  await Promise.all(servers.map((server) => once(server, 'listening')));
  const ports = servers.map((server) => (server.address() as AddressInfo).port);
  await Promise.all(servers.map((server) => once(server.close(), 'close')));
  return ports;
}

async function start(assets: string, name: string, flags: readonly string[], folder: string): Promise<ChildProcess> {
  const log = await open(join(folder, `${name}.log`), 'w');
  const child = spawn(join(assets, name), flags, { stdio: ['ignore', log.fd, log.fd] });
  await once(child, 'spawn');
  await log.close();
  return child;
}

async function end(child: ChildProcess): Promise<void> {
  if (child.exitCode !== null || child.signalCode !== null) return;
  const ended = once(child, 'exit');
  child.kill('SIGKILL');
  await ended;
}

function apiFlags(folder: string, port: number, etcd: string): string[] {
  const key = join(folder, 'key.pem');
  return [
    `--etcd-servers=${etcd}`,
    `--cert-dir=${folder}`,
    `--secure-port=${port}`,
    '--bind-address=127.0.0.1',
    '--advertise-address=127.0.0.1',
    '--service-cluster-ip-range=10.0.0.0/24',
    '--authorization-mode=RBAC',
    '--disable-admission-plugins=ServiceAccount',
    '--service-account-issuer=https://localhost/',
    `--service-account-key-file=${key}`,
    `--service-account-signing-key-file=${key}`,
    `--token-auth-file=${join(folder, 'tokens')}`,
  ];
}

/** Resolves when the server is ready; rejects with the end of its log when it is not within a minute. */
async function ready(child: ChildProcess, config: ClusterConfig, folder: string): Promise<void> {
  for (let i = 0; i < 300 && child.exitCode === null; i += 1) {
    await new Promise((resolve) => setTimeout(resolve, 200));
    const transport = createTransport(config, { userAgent: 'contract/1' });
    const answer: unknown = await transport.request({ method: 'GET', path: '/readyz', retry: false }).catch((error: unknown) => error);
    await transport.close();
    // It answers `ok`, which is no JSON.
    if (isKubeError(answer, 'AF_API_MALFORMED')) return;
  }
  const log = await readFile(join(folder, 'kube-apiserver.log'), 'utf8');
  throw new Error(`kube-apiserver of KUBEBUILDER_ASSETS is not ready: ${log.slice(-2000)}`);
}

/** Starts `etcd` and `kube-apiserver` from a folder of envtest's (`KUBEBUILDER_ASSETS`). */
export async function startAssets(assets: string): Promise<Assets> {
  const folder = await mkdtemp(join(tmpdir(), 'kube-assets-'));
  const [client = 0, peer = 0, api = 0] = await freePorts(3);
  const url = `http://127.0.0.1:${client}`;
  const token = randomUUID();
  const { privateKey } = generateKeyPairSync('rsa', { modulusLength: 2048 });
  await writeFile(join(folder, 'key.pem'), privateKey.export({ type: 'pkcs1', format: 'pem' }), { mode: 0o600 });
  await writeFile(join(folder, 'tokens'), `${token},admin,1,system:masters\n`, { mode: 0o600 });
  const peers = `http://127.0.0.1:${peer}`;
  const listen = [`--listen-client-urls=${url}`, `--advertise-client-urls=${url}`, `--listen-peer-urls=${peers}`];
  const etcd = await start(assets, 'etcd', [`--data-dir=${join(folder, 'etcd')}`, '--unsafe-no-fsync', ...listen], folder);
  const launch = (): Promise<ChildProcess> => start(assets, 'kube-apiserver', apiFlags(folder, api, url), folder);
  let server = await launch();
  const stop = async (): Promise<void> => {
    await end(server);
    await end(etcd);
    await rm(folder, { recursive: true, force: true });
  };
  const credentials = async (): ReturnType<ClusterConfig['credentials']> => ({
    tls: { ca: await readFile(join(folder, 'apiserver.crt'), 'utf8') },
    authorization: `Bearer ${token}`,
  });
  const config: ClusterConfig = { server: `https://127.0.0.1:${api}`, credentials };
  await ready(server, config, folder).catch(async (error: unknown) => {
    await stop();
    throw error;
  });
  const restart = async (): Promise<void> => {
    await end(server);
    server = await launch();
    await ready(server, config, folder);
  };
  return { config, restart, stop };
}
