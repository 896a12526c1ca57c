import type { Timeline } from '../follow.ts';
import { readTrace } from '../readTrace.ts';
import { conditionOf, type Stage, type Evidence } from '../stage.ts';

/** No program passes both tests, so the task must fail and leave nothing behind. */
export async function undone(stage: Stage, timeline: Timeline): Promise<Evidence> {
  const { proofs } = stage;
  const { end } = timeline;
  const succeeded = conditionOf(end, 'Succeeded');
  const why = `${succeeded?.reason ?? ''}: ${succeeded?.message ?? ''}`;
  proofs.prove('the task has failed, and says why', succeeded?.status === 'False', why);
  proofs.prove('the task is RolledBack', conditionOf(end, 'RolledBack')?.status === 'True');
  const rollback = end.status?.run?.rollback;
  proofs.prove('the rollback was verified', rollback?.verified === true, `snapshot ${rollback?.snapshot ?? 'none'}`);
  const trace = await readTrace(stage, end);
  const { initial, restored, undone: before, lastChange } = trace;
  proofs.fact(`snapshot 0 in the event log   ${initial ?? 'none'}`);
  proofs.fact(`tree as the agent left it     ${before ?? 'none'}`);
  proofs.fact(`tree after the restore        ${restored?.digest ?? 'none'}`);
  proofs.fact(`rollback in the status        ${rollback?.manifestDigest ?? 'none'}`);
  const equal = initial !== undefined && restored?.digest === initial && rollback?.manifestDigest === initial;
  proofs.prove('there was something to undo', before !== undefined && before !== initial);
  proofs.prove('snapshot 0, the tree after the restore and the status are one tree', equal && restored.verified);
  const seen = `restored by record ${restored?.seq ?? '–'}, last command or file in record ${lastChange}`;
  proofs.prove('nothing ran or was written after the restore', restored !== undefined && restored.seq > lastChange, seen);
  return { timeline, trace };
}
