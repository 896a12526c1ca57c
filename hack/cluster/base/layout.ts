// hack, cluster/base: paths of the cluster's state on the host. Of other folders imports hack/cache only.
import { createHash } from 'node:crypto';
import { homedir } from 'node:os';
import { join } from 'node:path';

/** Every path the cluster writes to, outside of the kubelet's fixed ones. */
export interface Layout {
  /** Root of all state; `down` removes it whole. */
  readonly state: string;
  /** Volatile part (sockets, mounts, leases of pod addresses); gone after a reboot, as it should be. */
  readonly run: string;
  readonly logs: string;
  readonly pki: string;
  readonly config: string;
  /** One JSON file for each daemon: its process and the inputs it was started from. */
  readonly daemons: string;
  readonly kubeconfig: string;
  readonly containerdRoot: string;
  readonly containerdState: string;
  readonly containerdSocket: string;
  readonly kubeletRoot: string;
  readonly clusterFile: string;
  readonly portsFile: string;
  readonly hostFile: string;
  readonly lockFile: string;
}

const defaultState = '/var/lib/agentfleet-cluster';

/** Returns the state folder: `$AGENTFLEET_STATE`, else a system folder for root, else the user's state folder (XDG). */
function stateRoot(env: NodeJS.ProcessEnv, uid: number): string {
  if (env['AGENTFLEET_STATE']) return env['AGENTFLEET_STATE'];
  if (uid === 0) return defaultState;
  return join(env['XDG_STATE_HOME'] ?? join(homedir(), '.local', 'state'), 'agentfleet-cluster');
}

/**
 * The layout below a state folder. A non-default folder gets its own `/run` folder, so that two states never share
 * a socket; the suffix is short because a Unix socket path holds at most 107 bytes.
 */
export function layoutAt(state: string): Layout {
  const suffix = state === defaultState ? '' : `-${createHash('sha256').update(state).digest('hex').slice(0, 8)}`;
  const run = `/run/agentfleet-cluster${suffix}`;
  return {
    state,
    run,
    logs: join(state, 'logs'),
    pki: join(state, 'pki'),
    config: join(state, 'config'),
    daemons: join(state, 'daemons'),
    kubeconfig: join(state, 'kubeconfig'),
    containerdRoot: join(state, 'containerd'),
    containerdState: join(run, 'containerd'),
    containerdSocket: join(run, 'containerd.sock'),
    kubeletRoot: '/var/lib/kubelet',
    clusterFile: join(state, 'cluster.json'),
    portsFile: join(state, 'ports.json'),
    hostFile: join(state, 'host.json'),
    lockFile: `${state}.lock`,
  };
}

/** The layout for this process's environment and user. */
export function currentLayout(): Layout {
  return layoutAt(stateRoot(process.env, process.getuid?.() ?? 0));
}
