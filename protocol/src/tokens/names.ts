/** Audience of the tokens that experts and verifiers of a namespace take from those who ask them to work. */
export function expertsAudience(namespace: string): string {
  return `agentfleet-experts:${namespace}`;
}

/**
 * Audience of the tokens that open /metrics and what a server reports of itself, in all namespaces. Whoever scrapes sends it to
 * each pod that is labelled like one of ours: alone it is no secret, and NetworkPolicies stand before it.
 */
export const metricsAudience = 'agentfleet-metrics';

/** Audience of the tokens that open /metrics of the operator, which are sent nowhere else. */
export const operatorMetricsAudience = 'agentfleet-operator-metrics';

/** Subject of the tokens of a ServiceAccount; the name `*` stands for all of the namespace. */
export function serviceAccountSubject(namespace: string, name: string): string {
  return `system:serviceaccount:${namespace}:${name}`;
}

/** Environment of a server that authenticates its callers, set by the operator. */
export const accessEnvironment = {
  /** `Tokens` (default), or `None` for a server that listens on a loopback address only. */
  authentication: 'AGENTFLEET_AUTHENTICATION',
  issuer: 'AGENTFLEET_ISSUER',
  /** File with the signing keys of the cluster. */
  jwks: 'AGENTFLEET_JWKS',
  /** Audience of tokens of callers. */
  audience: 'AGENTFLEET_AUDIENCE',
  /** Subjects that may ask it to work, separated by commas. */
  callers: 'AGENTFLEET_CALLERS',
  /** Subjects that may read its metrics, separated by commas. */
  metricsReaders: 'AGENTFLEET_METRICS_READERS',
} as const;

/** Environment of a process that calls such servers: the file with its token. */
export const tokenFileVariable = 'AGENTFLEET_TOKEN_FILE';

/** Folder of the signing keys in a pod, and the file in it. */
export const keysDir = '/etc/agentfleet/jwks';
export const keysFile = `${keysDir}/jwks.json`;

/** Folder of the token of a caller in its pod, and the file in it. */
export const tokenDir = '/var/run/agentfleet/token';
export const tokenFile = `${tokenDir}/token`;
