import type { AgentTask } from '@agentfleet/protocol/api';
import { readTrace } from './readTrace.ts';
import { conditionOf, play, type Stage } from './stage.ts';
import type { Course } from './follow.ts';
import type { TraceFacts } from './trace.ts';

/** A task that ended, and what its event log says. */
export interface Told {
  readonly course: Course;
  readonly trace: TraceFacts;
}

const seconds = 300;

/** Chapter 2: a task with failing tests is applied, and nothing else is done by hand. */
export async function repair(stage: Stage): Promise<Told> {
  const { proofs } = stage;
  proofs.chapter('2  A task that can be done: one token of a parser is wrong');
  const course = await play(stage, 'fix-parser', seconds);
  const { end } = course;
  const succeeded = conditionOf(end, 'Succeeded');
  proofs.prove('the task is Succeeded', succeeded?.status === 'True', succeeded?.message);
  proveChecks(stage, end);
  const patch = end.status?.run?.patch ?? '';
  for (const line of patch.split('\n')) proofs.fact(line);
  const touched = [...patch.matchAll(/^\+\+\+ (?:b\/)?(\S+)/gm)].map(([, path = '']) => path);
  const own = touched.length > 0 && touched.every((path) => !/(^|\/)tests\//.test(path));
  proofs.prove('the change is in the program and not in its tests', own, touched.join(', '));
  return { course, trace: await readTrace(stage, end) };
}

function proveChecks({ proofs }: Stage, { status }: AgentTask): void {
  const checks = status?.run?.outcome?.checks ?? [];
  const seen = checks.map(({ name, passed, failed, skipped }) => `${name}: ${passed} passed, ${failed} failed, ${skipped} skipped`);
  const holds = checks.length > 0 && checks.every(({ passed, failed }) => passed > 0 && failed === 0);
  proofs.prove('its checks passed in a fresh container, on a clean restore of the result', holds, seen.join('; '));
}
