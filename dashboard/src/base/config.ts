import type { ClusterConfig } from '@agentfleet/kube';

/** Source of users. Token: they log in with one. Proxy: a proxy in front sends theirs. Kubeconfig: one user, on loopback. */
type AuthMode = 'Token' | 'Proxy' | 'Kubeconfig';

export interface DashboardConfig {
  /** Address of the API server. `credentials` gives the CA, and in mode Kubeconfig alone the identity of the dashboard. */
  readonly cluster: ClusterConfig;
  readonly mode: AuthMode;
  /** With Kubeconfig: what the browser has to know, since everybody on the machine reaches loopback. */
  readonly key?: string;
  readonly readOnly: boolean;
  /** Namespaces that are followed for users who may not list all; beside those that they name. */
  readonly namespaces: readonly string[];
  /** Whether `X-Forwarded-Proto` of the connecting client is trusted. */
  readonly trustProxy: boolean;
  /** Folder of the built page. */
  readonly page: string;
  readonly version: string;
}

/** Bounds of what one process does for all. */
export const bounds = {
  /** Bytes of a request: an AgentTask with its inline files. */
  bodyBytes: 1_048_576,
  /** Bytes of a token: what a cookie holds. */
  tokenBytes: 3800,
  users: 200,
  streamsPerUser: 12,
  namespacesPerUser: 100,
  /** Ms that watches outlive their last browser. */
  idleMs: 30_000,
  /** Ms that changes are gathered before they are sent. */
  batchMs: 80,
  /** A watch lives for one to two times this: then a token that was taken back sees nothing more. */
  watchSeconds: 60,
  patchBytes: 8_388_608,
  /** Bytes of an event log that is checked here; larger ones are for `fleet audit`. */
  logBytes: 67_108_864,
} as const;
