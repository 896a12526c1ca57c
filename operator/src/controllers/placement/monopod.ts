import type { Expert, ExpertPool } from '@agentfleet/protocol/api';
import { needsGpu } from './needs.ts';

const elsewhere: Readonly<Partial<Record<Expert['engine']['type'], string>>> = {
  VLLM: 'its engine is a process of another image',
  Adapter: 'it is loaded by an engine of another image',
  Llama: 'its engine is in another image',
};

/** Why the engines of a pool cannot be children of one supervisor; undefined: they can. Pure. */
export function monopodLack({ spec }: ExpertPool): string | undefined {
  if (spec.rollout !== undefined) return 'spec.rollout is set, and engines of one pod have no revisions of their own: remove it';
  const seated = spec.experts.filter((expert) => needsGpu(expert) || (expert.engine.type === 'Adapter' && expert.replicas > 0));
  for (const { name, engine, replicas } of seated) {
    const why = elsewhere[engine.type];
    if (why !== undefined) return `expert ${name} has the engine ${engine.type}: ${why}, and one pod has our own servers only`;
    if (replicas > 1) return `expert ${name} has ${replicas} replicas: one pod has one server of it; set spec.experts[].replicas to 1`;
  }
  return undefined;
}
