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
  apiVersion,
  agentTask,
  agentTaskOrder,
  energyModel,
  expertPool,
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

/** Throws a CliError where a namespace is named to a command that is about all of them. */
export function refuseNamespace(command: string, namespace: string | undefined): void {
  if (namespace === undefined) return;
  throw new CliError(`-n ${namespace}: ${command} is about all namespaces of the cluster; leave -n out`);
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

export const agentTasks = defineResource<AgentTask>(apiVersion, agentTask.kind, agentTask.plural);

export const agentTaskOrders = defineResource<AgentTaskOrder>(apiVersion, agentTaskOrder.kind, agentTaskOrder.plural);

export const energyModels = defineResource<EnergyModel>(apiVersion, energyModel.kind, energyModel.plural);

export const expertPools = defineResource<ExpertPool>(apiVersion, expertPool.kind, expertPool.plural);

export const secrets = defineResource('v1', 'Secret', 'secrets');

interface ConfigMap extends KubeObject {
  readonly data?: Readonly<Record<string, string>>;
  readonly binaryData?: Readonly<Record<string, string>>;
}

export const configMaps = defineResource<ConfigMap>('v1', 'ConfigMap', 'configmaps');
