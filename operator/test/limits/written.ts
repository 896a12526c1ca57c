import type { Resource } from '@agentfleet/kube';
import { resources } from '../../src/runtime/resources.ts';

/** Kinds of all that the operator makes, or writes a report in. */
export const written = [
  resources.agentTasks,
  resources.agentTaskOrders,
  resources.expertPools,
  resources.energyModels,
  resources.pods,
  resources.deployments,
  resources.services,
  resources.serviceAccounts,
  resources.networkPolicies,
  resources.roles,
  resources.roleBindings,
  resources.podDisruptionBudgets,
  resources.configMaps,
] as readonly Resource[];
