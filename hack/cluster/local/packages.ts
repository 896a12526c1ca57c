import { execa } from 'execa';
import { ClusterError } from '../base/errors.ts';
import type { Tier } from '../base/cluster.ts';

const controlPlanePackages = ['ca-certificates', 'openssl'] as const;
const nodePackages = [
  'conntrack',
  'containernetworking-plugins',
  'gcc',
  'ipset',
  'iproute2',
  'iptables',
  'libc6-dev',
  'libseccomp-dev',
  'mount',
  'nftables',
  'pkg-config',
  'procps',
] as const;

/** The Debian packages that a tier needs on the host. */
export function packagesFor(tier: Tier): string[] {
  return tier === 'node' ? [...controlPlanePackages, ...nodePackages] : [...controlPlanePackages];
}

/**
 * The wanted packages that are not installed, from `dpkg-query -W -f '${Package}\t${db:Status-Status}\t${Provides}\n'`.
 * A package that another one provides counts as installed (pkg-config is provided by pkgconf).
 */
export function missingPackages(wanted: readonly string[], dpkgOutput: string): string[] {
  const present = new Set<string>();
  for (const line of dpkgOutput.split('\n')) {
    const [name = '', status, provides = ''] = line.split('\t');
    if (status !== 'installed') continue;
    present.add(name);
    for (const provided of provides.split(',')) present.add(provided.trim().split(' ', 1)[0] ?? '');
  }
  return wanted.filter((name) => !present.has(name));
}

/** Asks dpkg which of the wanted packages are missing. */
export async function findMissingPackages(wanted: readonly string[]): Promise<string[]> {
  const format = '${Package}\t${db:Status-Status}\t${Provides}\n';
  const { stdout } = await execa('dpkg-query', ['-W', '-f', format], { reject: false });
  return missingPackages(wanted, stdout ?? '');
}

/** Installs packages with apt-get, without questions and without recommendations. Throws AF_PACKAGES_FAILED. */
export async function installPackages(names: readonly string[], log: (line: string) => void, signal?: AbortSignal): Promise<void> {
  if (names.length === 0) return;
  const begin = performance.now();
  const options = { env: { DEBIAN_FRONTEND: 'noninteractive' }, ...(signal ? { cancelSignal: signal } : {}) };
  try {
    await execa('apt-get', ['update', '-q'], options);
    await execa('apt-get', ['install', '-q', '-y', '--no-install-recommends', ...names], options);
  } catch (error) {
    const words = (error as { stderr?: string }).stderr?.trim().split('\n').slice(-3).join(' / ') ?? String(error);
    throw new ClusterError('AF_PACKAGES_FAILED', {
      what: `apt-get cannot install ${names.join(' ')}: ${words}`,
      where: 'the sources in /etc/apt',
      cure: 'Make the Debian mirrors reachable or install the packages by hand, then run the command again',
    });
  }
  log(`installed ${names.join(' ')} in ${((performance.now() - begin) / 1000).toFixed(1)} s`);
}
