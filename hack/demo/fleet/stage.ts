import { fileURLToPath } from 'node:url';
import type { AgentTask, Condition } from '@agentfleet/protocol/api';
import type { TestEnvironment } from '../../environment/index.ts';
import type { Kubectl } from '../../sandbox/index.ts';
import type { Proofs } from '../proofs/proofs.ts';
import type { Artifacts } from './artifacts.ts';
import type { Timeline } from './follow.ts';
import type { TraceFacts } from './trace.ts';

/** Namespaces of the demo; those of pools and tasks are the ones of `examples/`. */
export const namespaces = { system: 'agentfleet-system', pools: 'agentfleet-pools', tasks: 'demo' } as const;

/** Dependencies that the chapters of the demo share. */
export interface Stage {
  readonly environment: TestEnvironment;
  readonly kubectl: Kubectl;
  readonly proofs: Proofs;
  readonly artifacts: Artifacts;
}

/** A task that ended, and the facts of its event log. */
export interface Evidence {
  readonly timeline: Timeline;
  readonly trace: TraceFacts;
}

/** Path of a manifest in `examples/`. */
export function example(name: string): string {
  return fileURLToPath(new URL(`../../../examples/${name}`, import.meta.url));
}

export function conditionOf({ status }: AgentTask, type: string): Condition | undefined {
  return status?.conditions?.find((condition) => condition.type === type);
}
