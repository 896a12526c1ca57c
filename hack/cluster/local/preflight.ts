import type { Tier } from '../base/cluster.ts';
import { ClusterError, type ClusterErrorCode } from '../base/errors.ts';

/** Inputs of the preflight, gathered before any change. */
export interface PreflightFacts {
  readonly tier: Tier;
  readonly platform: string;
  readonly arch: string;
  readonly uid: number;
  /** Text of /etc/os-release; empty when there is none. */
  readonly osRelease: string;
  readonly missingPackages: readonly string[];
  /** Such as `go1.26.8`; undefined when there is no Go. */
  readonly goVersion: string | undefined;
  /** The `go` line of the newest go.mod, such as `1.26.0`. */
  readonly goNeeded: string;
  /** Whether Go may fetch a newer tool chain automatically (GOTOOLCHAIN is not `local`). */
  readonly goMayUpgrade: boolean;
  /** Other listener on the kubelet's port, as "name (pid N)". */
  readonly kubeletPortOwner: string | undefined;
  /** /var/lib/kubelet holds foreign files. */
  readonly foreignKubeletDir: boolean;
  /** Free and needed space by folder, in bytes. */
  readonly disks: readonly { readonly path: string; readonly freeBytes: number; readonly neededBytes: number }[];
}

const gibibyte = 1024 ** 3;

/**
 * Space that a start needs, in bytes. Measured on an empty machine: module cache, build cache and binaries of all
 * families together, and for the state the images and logs of a working day.
 */
export const neededSpace = { coldBuild: 14 * gibibyte, state: 3 * gibibyte } as const;

type Check = (facts: PreflightFacts) => ClusterError | undefined;

function refuse(code: ClusterErrorCode, what: string, where: string, cure: string): ClusterError {
  return new ClusterError(code, { what, where, cure });
}

function compareVersions(left: string, right: string): number {
  const [a, b] = [left, right].map((text) => text.replace(/^\D+/, '').split('.').map(Number));
  for (let i = 0; i < 3; i++) {
    const difference = (a?.[i] ?? 0) - (b?.[i] ?? 0);
    if (difference !== 0) return difference;
  }
  return 0;
}

const checks: readonly Check[] = [
  ({ platform }) =>
    platform === 'linux'
      ? undefined
      : refuse(
          'AF_UNSUPPORTED_OS',
          `the operating system is ${platform}`,
          'this machine',
          'Use Linux, or an existing cluster: --context NAME',
        ),
  ({ arch }) =>
    arch === 'x64' || arch === 'arm64'
      ? undefined
      : refuse(
          'AF_UNSUPPORTED_ARCH',
          `the processor is ${arch}`,
          'this machine',
          'Use x64 or arm64, or an existing cluster: --context NAME',
        ),
  ({ osRelease, missingPackages }) =>
    missingPackages.length === 0 || /^ID(_LIKE)?=.*\bdebian\b/m.test(osRelease)
      ? undefined
      : refuse(
          'AF_UNSUPPORTED_OS',
          'this is not a Debian system, so the packages cannot be installed',
          '/etc/os-release',
          'Use Debian 12 or newer, or an existing cluster: --context NAME',
        ),
  ({ tier, uid, missingPackages }) => {
    if (uid === 0) return undefined;
    if (tier === 'node') return refuse('AF_NOT_ROOT', 'a node needs root', `user ${uid}`, 'Run as root, or ask for --tier control-plane');
    if (missingPackages.length === 0) return undefined;
    return refuse(
      'AF_NOT_ROOT',
      `packages are missing: ${missingPackages.join(' ')}`,
      `user ${uid}`,
      'Run as root once, or install them by hand',
    );
  },
  ({ goVersion, goNeeded }) =>
    goVersion === undefined
      ? refuse('AF_GO_MISSING', 'there is no Go, which builds the binaries', 'PATH', `Install Go ${goNeeded} or newer and put it into PATH`)
      : undefined,
  ({ goVersion = '', goNeeded, goMayUpgrade }) =>
    compareVersions(goVersion, goNeeded) < 0 && !goMayUpgrade
      ? refuse('AF_GO_TOO_OLD', `Go is ${goVersion} and ${goNeeded} is needed`, 'PATH', `Install Go ${goNeeded}, or set GOTOOLCHAIN=auto`)
      : undefined,
  ({ tier, kubeletPortOwner }) =>
    tier === 'node' && kubeletPortOwner !== undefined
      ? refuse(
          'AF_PORT_TAKEN',
          `port 10250 is held by ${kubeletPortOwner}`,
          'the kubelet listens there and cannot move',
          'Stop that process',
        )
      : undefined,
  ({ tier, foreignKubeletDir }) =>
    tier === 'node' && foreignKubeletDir
      ? refuse(
          'AF_FOREIGN_KUBELET',
          'there are files of another kubelet',
          '/var/lib/kubelet',
          'Use that cluster with --context NAME, or remove the folder if it is stale',
        )
      : undefined,
  ({ disks }) => {
    const full = disks.find(({ freeBytes, neededBytes }) => freeBytes < neededBytes);
    if (!full) return undefined;
    const [free, needed] = [full.freeBytes, full.neededBytes].map((bytes) => (bytes / gibibyte).toFixed(1));
    return refuse(
      'AF_DISK_FULL',
      `${free} GiB are free and ${needed} GiB are needed`,
      full.path,
      'Free some space, or move the folder (see README.md)',
    );
  },
];

/** Returns all reasons why a start would fail, most basic first; empty without any. */
export function preflight(facts: PreflightFacts): ClusterError[] {
  return checks.flatMap((check) => check(facts) ?? []);
}
