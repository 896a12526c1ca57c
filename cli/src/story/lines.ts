import { textOf } from '../evidence/fields.ts';
import { printable } from '../text/printable.ts';
import type { StoryItem } from './item.ts';

/** Files in a row that are told one by one; more are counted. */
const mostFiles = 3;

/** A run of items of one kind. */
function runs(items: readonly StoryItem[]): readonly (readonly StoryItem[])[] {
  const groups: StoryItem[][] = [];
  for (const item of items) {
    const last = groups.at(-1);
    if (last !== undefined && last[0]?.kind === item.kind) last.push(item);
    else groups.push([item]);
  }
  return groups;
}

function offset(at: string, start: number): string {
  const seconds = (Date.parse(at) - start) / 1000;
  return Number.isFinite(seconds) ? `${seconds < 0 ? '' : '+'}${seconds.toFixed(3)}` : '?';
}

/** A story for people: record, seconds since the first one, kind, words. Safe for a terminal. */
export function storyLines(items: readonly StoryItem[]): readonly string[] {
  const start = Date.parse(items[0]?.at ?? '');
  const row = ({ seq, at, kind }: StoryItem, text: string, more: readonly string[]): readonly string[] => [
    `${String(seq).padStart(6)} ${offset(at, start).padStart(10)}  ${kind.padEnd(9)} ${printable(text)}`,
    ...more.map((line) => `${' '.repeat(31)}${printable(line)}`),
  ];
  return runs(items).flatMap((group) => {
    const [first] = group;
    const all = group.flatMap((item) => row(item, item.text, item.more));
    if (first?.kind !== 'File' || group.length <= mostFiles) return all;
    const [last] = group.slice(-1);
    const path = textOf(last?.facts['path']);
    return row(first, `${group.length} files, the last one ${path} (record ${last?.seq ?? '?'})`, []);
  });
}
