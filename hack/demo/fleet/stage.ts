import { fileURLToPath } from 'node:url';
import type { AgentTask, Condition } from '@agentfleet/protocol/api';
import type { Ground } from '../../ground/index.ts';
import type { Kubectl } from '../../sandbox/index.ts';
import type { Proofs } from '../proofs.ts';
import type { Artifacts } from './artifacts.ts';
import { follow, type Course } from './follow.ts';

/** Namespaces of the demo; those of pool and tasks are the ones of `examples/`. */
export const namespaces = { system: 'agentfleet-system', pools: 'agentfleet-pools', tasks: 'demo' } as const;

/** What the chapters of the demo share. */
export interface Stage {
  readonly ground: Ground;
  readonly kubectl: Kubectl;
  readonly proofs: Proofs;
  readonly artifacts: Artifacts;
}

/** Path of a manifest in `examples/`. */
export function example(name: string): string {
  return fileURLToPath(new URL(`../../../examples/${name}`, import.meta.url));
}

/** Applies `examples/<name>.yaml` as a user would and follows the task of that name to its end. */
export function play({ ground, kubectl }: Stage, name: string, seconds: number): Promise<Course> {
  console.log(`     kubectl apply -f examples/${name}.yaml`);
  return follow({
    cluster: ground.cluster,
    namespace: namespaces.tasks,
    name,
    apply: async () => {
      await kubectl.text(['apply', '--validate=strict', '-f', example(`${name}.yaml`)]);
    },
    signal: AbortSignal.timeout(seconds * 1000),
  });
}

export function conditionOf({ status }: AgentTask, type: string): Condition | undefined {
  return status?.conditions?.find((condition) => condition.type === type);
}
