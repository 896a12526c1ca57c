import { KeeperError } from '../../base/failure.ts';
import type { BytePath } from '../../snapshot/index.ts';
import { patchBounds } from '@agentfleet/protocol/keeper';

class DiffLines {
  readonly #lines: readonly string[];
  #at = 0;

  constructor(diff: string) {
    const lines = diff.split('\n');
    if (lines.at(-1) === '') lines.pop();
    this.#lines = lines;
  }

  get number(): number {
    return this.#at + 1;
  }

  peek(): string | null {
    return this.#lines[this.#at] ?? null;
  }

  take(): string {
    const line = this.#lines[this.#at] ?? '';
    this.#at += 1;
    return line;
  }
}

/** One hunk. Texts are bytes (latin1) with their line ends; a last line without one has none. */
export interface Hunk {
  /** Number within its file, from 1, and the line of the diff on which it begins. */
  readonly number: number;
  readonly line: number;
  /** Line of the old file, from 1; for a hunk without old lines the line after which it is inserted. */
  readonly start: number;
  readonly before: readonly string[];
  readonly after: readonly string[];
}

/** The changes of one file in a diff. Names are as in the diff, stripped; null where there is no file on that side. */
export interface Section {
  readonly line: number;
  readonly from: BytePath | null;
  readonly to: BytePath | null;
  /** Whether the file is executable afterwards; null = unchanged. */
  readonly executable: boolean | null;
  readonly hunks: readonly Hunk[];
}

function badDiff(line: number, why: string): KeeperError {
  return new KeeperError('AF_PATCH_INVALID', `line ${line} of the diff: ${why}`);
}

const header = /^@@ -(\d{1,9})(?:,(\d{1,9}))? \+(\d{1,9})(?:,(\d{1,9}))? @@/;

/** Reads one hunk with exactly the number of lines in its header. @throws KeeperError `AF_PATCH_INVALID` */
function readHunk(lines: DiffLines, number: number): Hunk {
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

const escapes: Readonly<Record<string, string>> = {
  a: '\x07',
  b: '\b',
  t: '\t',
  n: '\n',
  v: '\v',
  f: '\f',
  r: '\r',
  '"': '"',
  '\\': '\\',
};

/** Parses the name of a `---` or `+++` line; null for /dev/null. A time stamp follows after a tab. */
function nameOf(text: string, strip: number, line: number): BytePath | null {
  const name = text.startsWith('"') ? unquote(text, line).name : (text.split('\t', 1)[0] ?? '').replace(/\r$/, '');
  return name === '/dev/null' ? null : checked(stripped(name, strip, line), line);
}

/** Name of a `rename from` or `rename to` line: it has no prefix. */
function plainName(text: string, line: number): BytePath {
  return checked(text.startsWith('"') ? unquote(text, line).name : text.replace(/\r$/, ''), line);
}

/**
 * The name of a `diff --git` line. Both its names are the same where it is needed: in sections without other names, which
 * are those of empty files and of modes. Null when they differ.
 */
function gitName(text: string, strip: number, line: number): BytePath | null {
  const [first, second] = text.startsWith('"') ? quotedPair(text, line) : halves(text.replace(/\r$/, ''));
  if (first === undefined || second === undefined) return null;
  const [a, b] = [withoutPrefix(first, strip), withoutPrefix(second, strip)];
  return a !== null && a === b ? checked(a, line) : null;
}

function quotedPair(text: string, line: number): readonly (string | undefined)[] {
  const first = unquote(text, line);
  const rest = first.rest.trimStart();
  return [first.name, rest.startsWith('"') ? unquote(rest, line).name : rest];
}

/** The names have one length, so that the space between them is in the middle. */
function halves(text: string): readonly string[] {
  const middle = (text.length - 1) / 2;
  return Number.isInteger(middle) && text[middle] === ' ' ? [text.slice(0, middle), text.slice(middle + 1)] : [];
}

/** Undoes the quotes of git: C escapes and octal bytes. */
function unquote(text: string, line: number): { readonly name: string; readonly rest: string } {
  const quoted = /^"((?:[^"\\]|\\.)*)"/s.exec(text);
  if (quoted === null) throw badDiff(line, 'a quoted name does not end');
  const name = (quoted[1] ?? '').replaceAll(/\\([0-3][0-7]{2}|.)/gs, (_, escape: string) => {
    const plain = escape.length === 3 ? String.fromCharCode(Number.parseInt(escape, 8)) : escapes[escape];
    if (plain === undefined) throw badDiff(line, `a quoted name has the unknown escape \\${escape}`);
    return plain;
  });
  return { name, rest: text.slice(quoted[0].length) };
}

function stripped(name: string, strip: number, line: number): string {
  const rest = withoutPrefix(name, strip);
  if (rest === null) throw badDiff(line, `"${name.slice(0, 200)}" has no ${strip} leading components to strip; set strip`);
  return rest;
}

function withoutPrefix(name: string, strip: number): string | null {
  const parts = name.split('/');
  return parts.length > strip ? parts.slice(strip).join('/') : null;
}

function checked(name: string, line: number): BytePath {
  const refuse = (why: string): Error => badDiff(line, `the name "${name.slice(0, 200)}" ${why}`);
  if (name === '') throw badDiff(line, 'the name is empty');
  if (name.length > 4096) throw refuse('is longer than 4096 bytes');
  if (name.includes('\0')) throw refuse('contains a NUL character');
  if (name.startsWith('/')) throw refuse('is absolute');
  if (name.split('/').some((part) => part === '' || part === '.' || part === '..')) throw refuse('contains "", "." or ".."');
  return name;
}

/** Data from the lines before the hunks of a file; undefined = not present. */
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
 * Parses a unified diff. Strict: an unknown line is refused, never skipped, so that the whole diff is applied. Each
 * file may be named once.
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

/** Returns whether a line of a head belongs to the next file: this one may have no hunks. */
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
