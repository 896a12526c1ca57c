import { existsSync } from 'node:fs';
import { delimiter, join } from 'node:path';
import {
  createTransport,
  defaultConfig,
  kubeconfigConfig,
  type ClusterConfig,
  type Transport,
  defineResource,
  type KubeObject,
} from '@agentfleet/kube';
import { CliError } from './failure.ts';
import {
  agentTask,
  agentTaskOrder,
  energyModel,
  expertPool,
  group,
  version,
  type AgentTask,
  type EnergyModel,
  type AgentTaskOrder,
  type ExpertPool,
} from '@agentfleet/protocol/api';

/** Flags that have the same names in kubectl. */
export interface ConnectionFlags {
  readonly kubeconfig?: string;
  readonly context?: string;
  readonly namespace?: string;
}

/** Access of a command to its cluster. */
export interface Connection {
  readonly transport: Transport;
  /** The one that is asked for, else that of the context, else `default`. */
  readonly namespace: string;
}

/** The cluster as kubectl finds it. Throws AF_KUBE_CONFIG or a CliError. */
export async function configOf({ kubeconfig, context }: ConnectionFlags, env: NodeJS.ProcessEnv): Promise<ClusterConfig> {
  const inPod = env['KUBERNETES_SERVICE_HOST'] !== undefined && context === undefined;
  const named = kubeconfig !== undefined || Boolean(env['KUBECONFIG']) || inPod;
  if (!named && !existsSync(join(env['HOME'] ?? '', '.kube', 'config')))
    throw new CliError('there is no kubeconfig; give one by --kubeconfig or KUBECONFIG, or put it at ~/.kube/config');
  // Several files are put together by the library, from the environment of the process.
  const one = kubeconfig ?? (env['KUBECONFIG']?.includes(delimiter) === true ? undefined : env['KUBECONFIG'] || undefined);
  try {
    if (one === undefined && context === undefined) return await defaultConfig(env);
    return await kubeconfigConfig({ ...(one === undefined ? {} : { file: one }), ...(context === undefined ? {} : { context }) });
  } catch (error) {
    if (!(error instanceof Error && 'code' in error && error.code === 'ENOENT')) throw error;
    throw new CliError(`there is no kubeconfig (${error.message}); give one by --kubeconfig or KUBECONFIG`);
  }
}

/** Finds the cluster as kubectl does; the caller closes the transport. Throws AF_KUBE_CONFIG or a CliError. */
export async function connect(flags: ConnectionFlags, env: NodeJS.ProcessEnv): Promise<Connection> {
  const config = await configOf(flags, env);
  const transport = createTransport(config, { userAgent: 'fleet/0.1.0', connections: 2 });
  return { transport, namespace: flags.namespace ?? config.namespace ?? 'default' };
}

export const agentTasks = defineResource<AgentTask>({ group, version, plural: agentTask.plural, kind: agentTask.kind, namespaced: true });

export const agentTaskOrders = defineResource<AgentTaskOrder>({
  group,
  version,
  plural: agentTaskOrder.plural,
  kind: agentTaskOrder.kind,
  namespaced: true,
});

export const energyModels = defineResource<EnergyModel>({
  group,
  version,
  plural: energyModel.plural,
  kind: energyModel.kind,
  namespaced: true,
});

export const expertPools = defineResource<ExpertPool>({
  group,
  version,
  plural: expertPool.plural,
  kind: expertPool.kind,
  namespaced: true,
});

/** An Event of the cluster; what an old recorder left out is absent. */
export interface KubeEvent extends KubeObject {
  readonly type: 'Normal' | 'Warning';
  readonly reason: string;
  readonly note?: string;
  readonly eventTime?: string | null;
  readonly regarding?: { readonly uid?: string };
  readonly series?: { readonly count: number };
}

export const events = defineResource<KubeEvent>({
  group: 'events.k8s.io',
  version: 'v1',
  plural: 'events',
  kind: 'Event',
  namespaced: true,
});

export const secrets = defineResource({ group: '', version: 'v1', plural: 'secrets', kind: 'Secret', namespaced: true });

interface ConfigMap extends KubeObject {
  readonly data?: Readonly<Record<string, string>>;
  readonly binaryData?: Readonly<Record<string, string>>;
}

export const configMaps = defineResource<ConfigMap>({
  group: '',
  version: 'v1',
  plural: 'configmaps',
  kind: 'ConfigMap',
  namespaced: true,
});
