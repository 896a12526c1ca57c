import { defineResource, type KubeObject } from '@agentfleet/kube';
import {
  apiVersion,
  type AgentTask,
  agentTask,
  type AgentTaskOrder,
  agentTaskOrder,
  type EnergyModel,
  energyModel,
  type ExpertPool,
  expertPool,
  type ExpertScale,
  expertScale,
  type Kind,
  type RolloutPolicy,
  rolloutPolicy,
} from '@agentfleet/protocol/api';

const ours = <T extends KubeObject>({ plural, kind }: Kind) => defineResource<T>(apiVersion, kind, plural);

export const resources = {
  AgentTask: ours<AgentTask>(agentTask),
  ExpertPool: ours<ExpertPool>(expertPool),
  ExpertScale: ours<ExpertScale>(expertScale),
  EnergyModel: ours<EnergyModel>(energyModel),
  RolloutPolicy: ours<RolloutPolicy>(rolloutPolicy),
  AgentTaskOrder: ours<AgentTaskOrder>(agentTaskOrder),
} as const;

/** A name of an object or namespace, as the API server takes it: what else is asked for is refused before it gets into a path. */
export const isName = (text: unknown): text is string => typeof text === 'string' && /^[a-z0-9]([-a-z0-9.]{0,251}[a-z0-9])?$/.test(text);
