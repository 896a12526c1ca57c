import { readTrace } from './readTrace.ts';
import type { Told } from './repair.ts';
import { conditionOf, play, type Stage } from './stage.ts';

const seconds = 300;

/** Chapter 3: no program passes both tests, so the task must fail and leave nothing behind. */
export async function undo(stage: Stage): Promise<Told> {
  const { proofs } = stage;
  proofs.chapter('3  A task that cannot be done: two tests contradict each other');
  const course = await play(stage, 'cannot-be-met', seconds);
  const { end } = course;
  const succeeded = conditionOf(end, 'Succeeded');
  proofs.prove(
    'the task has failed, and says why',
    succeeded?.status === 'False',
    `${succeeded?.reason ?? ''}: ${succeeded?.message ?? ''}`,
  );
  proofs.prove('the task is RolledBack', conditionOf(end, 'RolledBack')?.status === 'True');
  const rollback = end.status?.run?.rollback;
  proofs.prove('the rollback was verified', rollback?.verified === true, `snapshot ${rollback?.snapshot ?? 'none'}`);
  const trace = await readTrace(stage, end);
  const { initial, restored, undone, lastChange } = trace;
  proofs.fact(`snapshot 0 in the event log   ${initial ?? 'none'}`);
  proofs.fact(`tree as the agent left it     ${undone ?? 'none'}`);
  proofs.fact(`tree after the restore        ${restored?.digest ?? 'none'}`);
  proofs.fact(`rollback in the status        ${rollback?.manifestDigest ?? 'none'}`);
  const equal = initial !== undefined && restored?.digest === initial && rollback?.manifestDigest === initial;
  proofs.prove('there was something to undo', undone !== undefined && undone !== initial);
  proofs.prove('snapshot 0, the tree after the restore and the status are one tree', equal && restored.verified);
  const seen = `restored by record ${restored?.seq ?? '–'}, last command or file in record ${lastChange}`;
  proofs.prove('nothing ran or was written after the restore', restored !== undefined && restored.seq > lastChange, seen);
  return { course, trace };
}
