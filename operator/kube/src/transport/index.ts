/** Pooled HTTP to one API server, with typed errors, retries and the fence. Imports runtime. */
export * from './apiError.ts';
export { inClusterConfig, defaultConfig, kubeconfigConfig, plainConfig, type KubeconfigOptions } from './kubeconfig.ts';
export { createTransport, fencedTransport, type TransportOptions } from './transport.ts';
export type * from './types.ts';
