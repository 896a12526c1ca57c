import { patchBounds } from '@agentfleet/protocol/keeper';
import type { BytePath } from '../../snapshot/index.ts';
import { readHunk } from './hunk.ts';
import { DiffLines } from './lines.ts';
import { gitName, nameOf, plainName } from './names.ts';
import { badDiff, type Hunk, type Section } from './section.ts';

/** What the lines before the hunks of a file said so far; undefined = nothing. */
interface Head {
  readonly line: number;
  git?: BytePath | null;
  from?: BytePath | null;
  to?: BytePath | null;
  renamedFrom?: BytePath;
  renamedTo?: BytePath;
  created?: boolean;
  deleted?: boolean;
  executable?: boolean;
}

/**
 * Takes a unified diff apart. Strict: a line that is not understood is refused, never skipped, so that what is applied is
 * the whole of what was sent. Each file may be named once.
 *
 * @param diff bytes as latin1
 * @throws KeeperError `AF_PATCH_INVALID` naming the line
 */
export function parseDiff(diff: string, strip: number): readonly Section[] {
  const lines = new DiffLines(diff);
  const sections: Section[] = [];
  while (lines.peek() !== null) {
    if (sections.length === patchBounds.files) throw badDiff(lines.number, `it names more than ${patchBounds.files} files`);
    sections.push(readSection(lines, strip));
  }
  if (sections.length === 0) throw badDiff(1, 'it names no file');
  assertOnce(sections);
  return sections;
}

function readSection(lines: DiffLines, strip: number): Section {
  const head: Head = { line: lines.number };
  for (let line = lines.peek(); line !== null && !line.startsWith('@@'); line = lines.peek()) {
    if (startsNext(line, head)) break;
    readHead(head, lines.take(), lines.number - 1, strip);
  }
  const hunks: Hunk[] = [];
  while (lines.peek()?.startsWith('@@ ') === true) hunks.push(readHunk(lines, hunks.length + 1));
  return sectionOf(head, hunks);
}

/** Whether a line of a head belongs to the next file: this one may have no hunks. */
function startsNext(line: string, head: Head): boolean {
  if (line.startsWith('diff --git ')) return head.git !== undefined;
  return line.startsWith('--- ') && head.from !== undefined;
}

type HeadReader = (head: Head, rest: string, line: number, strip: number) => void;

const headReaders: readonly (readonly [prefix: string, read: HeadReader])[] = [
  ['diff --git ', (head, rest, line, strip) => void (head.git = gitName(rest, strip, line))],
  ['--- ', (head, rest, line, strip) => void (head.from = nameOf(rest, strip, line))],
  ['+++ ', (head, rest, line, strip) => void (head.to = nameOf(rest, strip, line))],
  ['rename from ', (head, rest, line) => void (head.renamedFrom = plainName(rest, line))],
  ['rename to ', (head, rest, line) => void (head.renamedTo = plainName(rest, line))],
  ['new file mode ', (head, rest, line) => void Object.assign(head, { created: true, executable: executableOf(rest, line) })],
  ['deleted file mode ', (head, rest, line) => void Object.assign(head, { deleted: true, was: executableOf(rest, line) })],
  ['old mode ', (_head, rest, line) => void executableOf(rest, line)],
  ['new mode ', (head, rest, line) => void (head.executable = executableOf(rest, line))],
  ['index ', () => undefined],
  ['similarity index ', () => undefined],
  ['dissimilarity index ', () => undefined],
];

function readHead(head: Head, text: string, line: number, strip: number): void {
  if (/^(copy (from|to) )/.test(text)) throw badDiff(line, 'copies are not taken; send the new file as one');
  if (/^(GIT binary patch|Binary files )/.test(text)) throw badDiff(line, 'binary patches are not taken; use PUT /v1/files');
  const reader = headReaders.find(([prefix]) => text.startsWith(prefix));
  if (reader === undefined) throw badDiff(line, `"${text.slice(0, 120)}" is neither a file header nor a hunk`);
  reader[1](head, text.slice(reader[0].length), line, strip);
}

function executableOf(text: string, line: number): boolean {
  const mode = text.trim();
  if (mode === '100644' || mode === '100755') return mode === '100755';
  throw badDiff(line, `the mode ${mode.slice(0, 20)} is not taken, only 100644 and 100755`);
}

function sectionOf(head: Head, hunks: readonly Hunk[]): Section {
  const { line, renamedFrom, renamedTo, created = false, deleted = false } = head;
  const refuse = (why: string): Error => badDiff(line, `the file that begins here ${why}`);
  const renamed = renamedFrom !== undefined && renamedTo !== undefined;
  if ((renamedFrom === undefined) !== (renamedTo === undefined)) throw refuse('is renamed on one side only');
  if ((head.from === undefined) !== (head.to === undefined)) throw refuse('has only one of the lines --- and +++');
  const [from, to] = renamed ? [renamedFrom, renamedTo] : [head.from ?? undefined, head.to ?? undefined];
  const isNew = created || head.from === null;
  const isGone = deleted || head.to === null;
  const name = to ?? from ?? head.git ?? undefined;
  if (name === undefined) throw refuse('has no name');
  if ((isNew && isGone) || (renamed && (isNew || isGone))) throw refuse('is created, deleted or renamed at once');
  if (renamed && head.from !== undefined && (head.from !== from || head.to !== to)) throw refuse('has other names in --- and +++');
  if (!renamed && from !== undefined && to !== undefined && from !== to) throw refuse('has two names and no rename');
  const executable = head.executable ?? null;
  if (hunks.length === 0 && !renamed && !isNew && !isGone && executable === null) throw refuse('has no hunks and changes nothing');
  return { line, from: isNew ? null : (from ?? name), to: isGone ? null : name, executable, hunks };
}

function assertOnce(sections: readonly Section[]): void {
  const seen = new Set<BytePath>();
  for (const { from, to, line } of sections) {
    for (const name of new Set([from, to])) {
      if (name === null) continue;
      if (seen.has(name)) throw badDiff(line, `${name.slice(0, 200)} is named twice; put all its hunks under one header`);
      seen.add(name);
    }
  }
}
