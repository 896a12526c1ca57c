import { ablationAnnotations, ablationNames, ablationRefusal, ablations } from '@agentfleet/protocol/pool';
import { AttemptFailure } from './failure.ts';
import type { AttemptContext } from './ports.ts';

type Experiment = Pick<AttemptContext, 'task' | 'pool'>;

const asked = ({ task }: Experiment): readonly string[] => ablationNames(task.metadata.annotations?.[ablationAnnotations.asked]);

/** An experiment that silently ran with the whole fleet would be compared with itself. @throws AttemptFailure InvalidInput */
export function refuseAblations(experiment: Experiment): void {
  const refusal = ablationRefusal(asked(experiment), experiment.pool);
  if (refusal !== null) throw new AttemptFailure('InvalidInput', 'AblationRefused', refusal);
}

/** Whether the search may go back to trees that it has left. */
export function mayBacktrack(experiment: Experiment): boolean {
  return asked(experiment).every((name) => ablations[name]?.backtracking !== false);
}
