// hack, demo/fleet: package registries of this machine, as egress values of the chart. May import any package.
import { X509Certificate } from 'node:crypto';
import { connect, rootCertificates, type DetailedPeerCertificate } from 'node:tls';
import { execa } from 'execa';

/** Value `egress` of the chart. */
interface EgressValues {
  readonly registries: readonly { readonly host: string; readonly port: number }[];
  readonly environment: Readonly<Record<string, string>>;
}

const maxWaitMs = 15_000;

/**
 * Returns the package registry that npm uses on this machine, and the settings that make npm inside a sandbox use it: no host is named in
 * the repository. An authority that only this machine trusts goes along.
 */
export async function machineEgress(): Promise<EgressValues> {
  const { stdout } = await execa('npm', ['config', 'get', 'registry'], { stderr: 'ignore' });
  const registry = new URL(stdout.trim());
  const port = Number(registry.port) || (registry.protocol === 'http:' ? 80 : 443);
  const authority = registry.protocol === 'https:' ? await privateAuthority(registry.hostname, port) : undefined;
  return {
    registries: [{ host: registry.hostname, port }],
    environment: {
      NPM_CONFIG_REGISTRY: registry.href,
      NPM_CONFIG_UPDATE_NOTIFIER: 'false',
      ...(authority === undefined ? {} : { NPM_CONFIG_CA: authority }),
    },
  };
}

/** Settings that pip needs besides, and the authority of its index, which it takes from a file only; undefined: a public one signs. */
interface PythonEgress extends EgressValues {
  readonly authority: string | undefined;
}

const defaults = 'from pip._internal.models.index import PyPI; print(PyPI.simple_url); print(PyPI.file_storage_domain)';

/** Returns pip's package index on this machine, and the host of its files. @param certificate future path of a private authority */
export async function pythonEgress(certificate: string): Promise<PythonEgress> {
  const configured = await execa('python3', ['-m', 'pip', 'config', 'get', 'global.index-url'], { reject: false });
  const [simple = '', files = ''] = (await execa('python3', ['-c', defaults])).stdout.trim().split('\n');
  const own = configured.exitCode === 0 ? configured.stdout.trim() : '';
  const index = new URL(own === '' ? simple : own);
  const port = Number(index.port) || (index.protocol === 'http:' ? 80 : 443);
  const authority = index.protocol === 'https:' ? await privateAuthority(index.hostname, port) : undefined;
  return {
    registries: [{ host: index.hostname, port }, ...(own === '' ? [{ host: files, port: 443 }] : [])],
    environment: { PIP_INDEX_URL: index.href, ...(authority === undefined ? {} : { PIP_CERT: certificate }) },
    authority,
  };
}

/** PEM of the root that signs for a host, when it is none of those that Node brings along. */
async function privateAuthority(host: string, port: number): Promise<string | undefined> {
  const root = rootOf(await peerCertificate(host, port));
  const pem = new X509Certificate(root.raw).toString().trim();
  const known = new Set(rootCertificates.map((one) => new X509Certificate(one).fingerprint256));
  return known.has(root.fingerprint256) ? undefined : pem;
}

function peerCertificate(host: string, port: number): Promise<DetailedPeerCertificate> {
  return new Promise((resolve, reject) => {
    const socket = connect({ host, port, servername: host, timeout: maxWaitMs }, () => {
      resolve(socket.getPeerCertificate(true));
      socket.end();
    });
    socket.once('timeout', () => socket.destroy(new Error(`${host}:${port} did not answer; look at: npm config get registry`)));
    socket.once('error', reject);
  });
}

/** The last certificate of a chain: the one that signs itself. */
function rootOf(certificate: DetailedPeerCertificate): DetailedPeerCertificate {
  const seen = new Set<string>();
  let current = certificate;
  while (current.issuerCertificate !== undefined && !seen.has(current.fingerprint256)) {
    seen.add(current.fingerprint256);
    current = current.issuerCertificate;
  }
  return current;
}
