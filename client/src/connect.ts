import { createTransport, defaultConfig, kubeconfigConfig, type ClusterConfig } from '@agentfleet/kube';
import { ClusterClient } from './client.ts';
import { asFleetErrors } from './errors.ts';
import type { FleetClient } from './public.ts';

/** Cluster and identity of the caller. Default: like kubectl, and the pod's own account inside a cluster. */
export interface ConnectOptions {
  readonly kubeconfig?: string;
  readonly context?: string;
  /** Default: that of the context, else `default`. */
  readonly namespace?: string;
  /** An address and a token instead of a kubeconfig. */
  readonly server?: string;
  readonly token?: string;
  /** PEM certificates that are trusted, beside `server`. */
  readonly ca?: string;
}

function configOf({ kubeconfig, context, server, token, ca }: ConnectOptions): Promise<ClusterConfig> {
  if (server !== undefined) {
    const tls = ca === undefined ? {} : { ca };
    const credentials = { tls, ...(token !== undefined && { authorization: `Bearer ${token}` }) };
    return Promise.resolve({ server, credentials: () => Promise.resolve(credentials) });
  }
  if (kubeconfig === undefined && context === undefined) return defaultConfig(process.env);
  return kubeconfigConfig({ ...(kubeconfig !== undefined && { file: kubeconfig }), ...(context !== undefined && { context }) });
}

/**
 * Opens a client; close it, or declare it with `await using`.
 *
 * @example
 * await using fleet = await connect({ namespace: 'demo' });
 * await fleet.create({ metadata: { name: 'fix' }, spec: { goal, workspace, checks } });
 * for await (const { phase } of fleet.follow('fix')) console.log(phase);
 *
 * @throws FleetError AF_CLIENT_CONFIG
 */
export async function connect(options: ConnectOptions = {}): Promise<FleetClient> {
  const config = await asFleetErrors(() => configOf(options));
  const transport = createTransport(config, { userAgent: 'agentfleet-client/0.1.0', connections: 4 });
  return new ClusterClient(transport, options.namespace ?? config.namespace ?? 'default');
}
