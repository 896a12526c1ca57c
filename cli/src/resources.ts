import { defineResource } from '@agentfleet/kube';
import {
  agentTask,
  agentTaskOrder,
  expertPool,
  group,
  version,
  type AgentTask,
  type AgentTaskOrder,
  type ExpertPool,
} from '@agentfleet/protocol/api';

export const agentTasks = defineResource<AgentTask>({ group, version, plural: agentTask.plural, kind: agentTask.kind, namespaced: true });

export const agentTaskOrders = defineResource<AgentTaskOrder>({
  group,
  version,
  plural: agentTaskOrder.plural,
  kind: agentTaskOrder.kind,
  namespaced: true,
});

export const expertPools = defineResource<ExpertPool>({
  group,
  version,
  plural: expertPool.plural,
  kind: expertPool.kind,
  namespaced: true,
});
