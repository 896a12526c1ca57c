import type { AgentTask } from '@agentfleet/protocol/api';
import { contradiction, oneBug, type Repository } from '../repositories.ts';

/** A stretch of a task's life, and a task that is long enough in it to be hit. */
export interface Phase {
  readonly name: string;
  readonly repository: Repository;
  /** Merged over the spec of the task. */
  readonly spec: object;
  /** Reports whether a state of the task is in this phase. */
  readonly holds: (task: AgentTask) => boolean;
  /** End of the task without a kill. */
  readonly end: 'Succeeded' | 'RolledBack';
}

/** The tests of the repository, slow enough that something can be killed meanwhile. */
const checks = [{ name: 'unit', command: ['sh', '-c', 'sleep 1; exec python3 -m unittest -v'] }];

const runs = (node: string) => (task: AgentTask) =>
  task.status?.run?.plan?.some(({ id, state }) => id === node && state === 'Running') === true;

const repair = { repository: oneBug, spec: { checks }, end: 'Succeeded' } as const;

/** In the order of a task's life. */
export const phases: readonly Phase[] = [
  { ...repair, name: 'Preparing', holds: ({ status }) => status?.phase === 'Preparing' },
  { ...repair, name: 'SettingUp', spec: { checks, setup: [{ name: 'slow', command: ['sleep', '3'] }] }, holds: runs('prepare') },
  { ...repair, name: 'Baseline', holds: runs('baseline') },
  { ...repair, name: 'Repairing', holds: runs('repair') },
  { ...repair, name: 'Verifying', holds: ({ status }) => status?.phase === 'Verifying' },
  {
    name: 'RollingBack',
    repository: contradiction,
    spec: { checks, budget: { toolCalls: 16 } },
    holds: ({ status }) => status?.phase === 'RollingBack',
    end: 'RolledBack',
  },
];

export function phaseNamed(name: string): Phase {
  const phase = phases.find((one) => one.name === name);
  if (phase === undefined) throw new Error(`there is no phase ${name}; there are ${phases.map((one) => one.name).join(', ')}`);
  return phase;
}
