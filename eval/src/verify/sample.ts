import { createHash } from 'node:crypto';
import type { PackTask } from '../format/index.ts';

function rank(id: string): string {
  return createHash('sha256').update(`sample ${id}`).digest('hex');
}

/** The same tasks every time: each language and kind first, then what its id draws. */
export function fixedSample(tasks: readonly PackTask[], size: number): PackTask[] {
  const ordered = [...tasks].sort((one, other) => rank(one.id).localeCompare(rank(other.id)));
  const groups = Map.groupBy(ordered, ({ languages, kind }) => `${languages.join('+')} ${kind}`);
  const first = [...groups.values()].flatMap(([task]) => (task === undefined ? [] : [task]));
  const rest = ordered.filter((task) => !first.includes(task));
  return [...first, ...rest].slice(0, size);
}
