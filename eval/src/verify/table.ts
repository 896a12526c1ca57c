import type { PackTask } from '../format/index.ts';
import type { CheckVerdict } from './judge.ts';
import type { TaskReport } from './verify.ts';

function cell({ passed, reason, counts }: CheckVerdict): string {
  const numbers = counts === undefined ? '' : ` ${counts.tests - counts.failed}/${counts.tests}`;
  return `${passed ? 'pass' : reason === 'Exit' ? 'fail' : reason}${numbers}`;
}

/** One line per task: no-op and oracle by both checks, and what it is refused for. */
export function taskLine({ task, noOp, oracle, seconds, refusals }: TaskReport): string {
  const cells = [noOp.visible, noOp.hidden, oracle.visible, oracle.hidden].map((verdict) => cell(verdict).padEnd(10));
  const state = refusals.length === 0 ? 'ok     ' : 'REFUSED';
  const line = [state, task.id.padEnd(52), task.kind.padEnd(10), ...cells, `${seconds.toFixed(2)} s`].join('  ');
  return [line, ...refusals.map((refusal) => `         ${refusal}`)].join('\n');
}

export const taskHeader = [
  'state  ',
  'task'.padEnd(52),
  'kind'.padEnd(10),
  'no-op vis.',
  'no-op hid.',
  'oracle v. ',
  'oracle h. ',
  'time',
].join('  ');

/** Numbers of tasks by language, kind and half. */
export function countTable(tasks: readonly PackTask[]): string {
  const groups = Map.groupBy(tasks, ({ languages, kind, half }) =>
    [languages.join('+').padEnd(12), kind.padEnd(11), half.padEnd(8)].join(' '),
  );
  return [...groups]
    .map(([group, members]) => `${group} ${String(members.length).padStart(4)}`)
    .sort()
    .join('\n');
}
