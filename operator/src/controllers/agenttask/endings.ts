import { findCondition } from '@agentfleet/kube';
import type { AgentTaskStatus } from '@agentfleet/protocol/api';
import { Counter, type Registry } from 'prom-client';

const name = 'agentfleet_task_ends_total';
const phases = ['Succeeded', 'Failed', 'Cancelled'] as const;
/** What became of what a task changed; None: nothing was to be undone. */
const rollbacks = ['None', 'Restored', 'Discarded', 'Kept', 'NotVerified'] as const;

type Ended = Pick<AgentTaskStatus, 'phase' | 'conditions' | 'finished'>;

/** Counts the ends of tasks that this process wrote; all series exist from the start, so that the first one is a growth. */
export function taskEnds(registry: Registry): (before: Ended | undefined, after: Ended) => void {
  const known = registry.getSingleMetric(name) as Counter | undefined;
  const ends =
    known ??
    new Counter({
      name,
      help: 'Tasks that ended, partitioned by phase and by what became of what they had changed.',
      labelNames: ['phase', 'rollback'],
      registers: [registry],
    });
  for (const phase of phases) for (const rollback of rollbacks) ends.inc({ phase, rollback }, 0);
  return (before, after) => {
    if (after.finished !== 'true' || before?.finished === 'true') return;
    const said = findCondition(after.conditions, 'RolledBack')?.reason ?? 'None';
    ends.inc({ phase: after.phase ?? '', rollback: said });
  };
}
