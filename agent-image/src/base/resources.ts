import { defineResource, type KubeObject } from '@agentfleet/kube';
import { agentTask, group, version, type AgentTask } from '@agentfleet/protocol/api';

/** `v1.ConfigMap`. */
export interface ConfigMap extends KubeObject {
  readonly data?: Readonly<Record<string, string>>;
}

function core<T extends KubeObject = KubeObject>(kind: string, plural: string) {
  return defineResource<T>({ group: '', version: 'v1', plural, kind, namespaced: true });
}

/** Every resource that the worker reads or writes, apart from its Lease. */
export const resources = {
  agentTasks: defineResource<AgentTask>({ group, version, plural: agentTask.plural, kind: agentTask.kind, namespaced: true }),
  configMaps: core<ConfigMap>('ConfigMap', 'configmaps'),
  serviceAccounts: core('ServiceAccount', 'serviceaccounts'),
} as const;
