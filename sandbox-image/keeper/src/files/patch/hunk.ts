import type { DiffLines } from './lines.ts';
import { badDiff, type Hunk } from './section.ts';

const header = /^@@ -(\d{1,9})(?:,(\d{1,9}))? \+(\d{1,9})(?:,(\d{1,9}))? @@/;

/** Reads one hunk: exactly as many lines as its header says. @throws KeeperError `AF_PATCH_INVALID` */
export function readHunk(lines: DiffLines, number: number): Hunk {
  const line = lines.number;
  const match = header.exec(lines.take());
  if (match === null) throw badDiff(line, 'the header of the hunk is not "@@ -start,count +start,count @@"');
  const [oldCount, newCount] = [Number(match[2] ?? 1), Number(match[4] ?? 1)];
  const before: string[] = [];
  const after: string[] = [];
  while (before.length < oldCount || after.length < newCount) readLine(lines, { before, after }, line);
  if (before.length > oldCount || after.length > newCount) {
    throw badDiff(line, `the hunk has ${before.length} old and ${after.length} new lines, its header says ${oldCount} and ${newCount}`);
  }
  takeNoNewline(lines, [before, after], null);
  const start = Number(match[1]);
  if (start === 0 && oldCount > 0) throw badDiff(line, 'the hunk has old lines and begins at line 0');
  return { number, line, start, before, after };
}

interface Sides {
  readonly before: string[];
  readonly after: string[];
}

function readLine(lines: DiffLines, { before, after }: Sides, hunkLine: number): void {
  const number = lines.number;
  if (lines.peek() === null) throw badDiff(number, `the diff ends in the middle of the hunk of line ${hunkLine}`);
  const text = lines.take();
  const kind = text === '' ? ' ' : text.charAt(0); // an editor may have cut the blank of an empty context line
  const content = `${text.slice(1)}\n`;
  const sides = { ' ': [before, after], '-': [before], '+': [after] }[kind];
  if (sides === undefined) throw badDiff(number, `a line of a hunk begins with " ", "-" or "+", not with ${JSON.stringify(kind)}`);
  for (const side of sides) side.push(content);
  takeNoNewline(lines, [before, after], sides);
}

/** "\ No newline at end of file" is about the line before it, on the sides that have that line. */
function takeNoNewline(lines: DiffLines, all: readonly string[][], sides: readonly string[][] | null): void {
  if (lines.peek()?.startsWith('\\ ') !== true) return;
  if (sides === null) throw badDiff(lines.number, 'the mark of a missing newline follows no line');
  lines.take();
  for (const side of all) {
    if (sides.includes(side)) side.push((side.pop() ?? '').slice(0, -1));
  }
}
