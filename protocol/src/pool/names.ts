/** Labels of all objects that the operator makes. */
export const labels = {
  /** `sandbox`, `worker`, `expert`, `verifier`, `gateway`. */
  component: 'agentfleet.dev/component',
  task: 'agentfleet.dev/task',
  pool: 'agentfleet.dev/pool',
  expert: 'agentfleet.dev/expert',
  /** Hash of what a server serves, where several revisions stand side by side. */
  revision: 'agentfleet.dev/revision',
  /** The EnergyModel that a pod serves. */
  model: 'agentfleet.dev/energy-model',
  /** `true` on a sandbox that waits for a task; gone when one has taken it. */
  warm: 'agentfleet.dev/warm',
} as const;

/** Key of the brief inside its ConfigMap. */
export const briefKey = 'pool.json';

/**
 * A worker's Lease has the name of its pod and these times, in seconds. A worker that could not renew for
 * `selfStop` stops its tasks; for the operator it is lost after `duration`, which is longer.
 */
export const workerLease = { duration: 20, renew: 5, selfStop: 14 } as const;

/** Environment of a worker, set by the operator. */
export const workerEnvironment = {
  podName: 'POD_NAME',
  podNamespace: 'POD_NAMESPACE',
  podUid: 'POD_UID',
  serviceAccount: 'AGENTFLEET_SERVICE_ACCOUNT',
  /** Name of the ConfigMap with the brief. */
  brief: 'AGENTFLEET_POOL_CONFIGMAP',
  concurrency: 'AGENTFLEET_CONCURRENCY',
} as const;

/** Port of probes and metrics of a worker. */
export const workerPort = 7090;

/** Port of the HTTP server of an expert or a verifier. */
export const expertPort = 7080;

/** Folder of the credentials of a pool in its workers: one file per credential, named like it. */
export const credentialsDir = '/etc/agentfleet/credentials';

/** Optional ConfigMap in the namespace of a pool; its key `ca.crt` is trusted by the workers beside the usual authorities. */
export const authoritiesConfigMap = 'agentfleet-ca';
export const authoritiesFile = '/etc/agentfleet/ca/ca.crt';

/** Where the pool's own volume is mounted in its workers when it has no object storage. */
export const artifactsDir = '/var/lib/agentfleet/artifacts';
