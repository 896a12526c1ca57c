import { X509Certificate } from 'node:crypto';
import { connect, rootCertificates, type DetailedPeerCertificate } from 'node:tls';
import { execa } from 'execa';

/** Value `egress` of the chart. */
export interface EgressValues {
  readonly registries: readonly { readonly host: string; readonly port: number }[];
  readonly environment: Readonly<Record<string, string>>;
}

const maxWaitMs = 15_000;

/**
 * The package registry that npm uses on this machine, and what tells npm inside a sandbox to use it: no host stands in the
 * repository. An authority that only this machine trusts goes along.
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
