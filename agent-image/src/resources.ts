import { defineResource, type KubeObject } from '@agentfleet/kube';
import { agentTask, group, version, type AgentTask } from '@agentfleet/protocol/api';

/** The parts of `v1.Pod` that the worker looks at. */
export interface Pod extends KubeObject {
  readonly status?: {
    readonly phase?: string;
    readonly reason?: string;
    readonly message?: string;
    readonly podIP?: string;
    readonly conditions?: readonly { readonly type: string; readonly status: string }[];
  };
}

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
  pods: core<Pod>('Pod', 'pods'),
  serviceAccounts: core('ServiceAccount', 'serviceaccounts'),
} as const;
