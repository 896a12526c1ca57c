import type { IsolationInfo, IsolationLevel } from '@agentfleet/protocol/keeper';
import type { RunnerInfo } from '../link/index.ts';

/**
 * Derives the isolation level from the runner's probes. Each level includes the ones before it, except that a
 * RuntimeClass replaces the host kernel that Landlock and user namespaces would harden: it comes directly above
 * seccomp. That the pod names one is not enough: the runner must have found a kernel that is not the node's, or any
 * class with the node's own runtime would do.
 */
export function isolationOf(info: RunnerInfo, runtimeClass: string | null): IsolationInfo {
  // The container's own profile belongs to the node. A guest kernel replaces it and shows none; the filter of commands
  // is probed everywhere.
  const seccomp = (info.seccomp === 2 || info.guest !== null) && info.probe.seccompDenies;
  const landlockABI = info.probe.landlockDenies ? info.landlockABI : 0;
  return {
    level: levelOf(seccomp, landlockABI > 0, info.userNamespace, runtimeClass !== null && info.guest !== null),
    seccomp,
    landlockABI,
    userNamespace: info.userNamespace,
    runtimeClass,
    guestKernel: info.guest,
    noNewPrivs: info.noNewPrivs,
    capEff: info.capEff,
  };
}

function levelOf(seccomp: boolean, landlock: boolean, userNamespace: boolean, runtimeClass: boolean): IsolationLevel {
  if (!seccomp) return 'Container';
  if (runtimeClass) return 'RuntimeClass';
  if (!landlock) return 'Seccomp';
  return userNamespace ? 'UserNamespace' : 'Landlock';
}

/** Why commands must not run in this tools container whatever its level; null when they may. */
export function isolationFault(info: RunnerInfo): string | null {
  // A failed probe proves nothing: the fault is its error, not what it could not find.
  const { storeAbsent, error } = info.probe;
  if (!storeAbsent) return error === null ? 'the tools container can see the store' : `the walls of commands cannot be tried: ${error}`;
  if (info.dumpable) return 'the runner can be dumped: commands could read the key of the link';
  if (!info.probe.powerless) return 'a command has capabilities of its container';
  return null;
}
