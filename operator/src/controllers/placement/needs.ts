import type { Expert } from '@agentfleet/protocol/api';

/** Whether an expert has an engine of its own that needs a GPU. */
export function needsGpu({ engine, resources, replicas }: Expert): boolean {
  if (replicas === 0 || engine.type === 'Adapter') return false;
  return engine.type === 'VLLM' || resources?.slot !== undefined || resources?.memory !== undefined;
}
