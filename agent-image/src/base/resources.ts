import { defineResource, type KubeObject } from '@agentfleet/kube';
import { apiVersion, agentTask, type AgentTask } from '@agentfleet/protocol/api';

/** `v1.ConfigMap`. */
export interface ConfigMap extends KubeObject {
  readonly data?: Readonly<Record<string, string>>;
}

/** Every resource that the worker reads or writes, apart from its Lease. */
export const resources = {
  agentTasks: defineResource<AgentTask>(apiVersion, agentTask.kind, agentTask.plural),
  configMaps: defineResource<ConfigMap>('v1', 'ConfigMap', 'configmaps'),
  serviceAccounts: defineResource('v1', 'ServiceAccount', 'serviceaccounts'),
} as const;
