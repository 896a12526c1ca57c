import { isUtf8 } from 'node:buffer';
import { formatPatch, OMIT_HEADERS, structuredPatch } from 'diff';
import { type Change, type ManifestEntry, isTimeOnly } from '../base/manifest.ts';
import { readWhole, type Contents } from '../restore/contents.ts';
import { type BytePath, displayPath } from '../base/pathBytes.ts';
import type { DiffEntry, TreeDiff } from '@agentfleet/protocol/keeper';
import type { Slices } from '../base/slices.ts';

/** Bigger files are only named. */
const MAX_TEXT_BYTES = 256 * 1024;
/** Files that differ in more lines than this are shown as replaced as a whole: Myers' search is quadratic in it. */
const MAX_EDITS = 1500;

/** Takes out of a whole text what its lines do not show to be secret by themselves, as those from the middle of a key. */
type Hide = (text: string) => string;

/**
 * Returns the change of one path in git's format, as text; `''` for directories and for changes that a git patch cannot
 * express. A change of type is a deletion and an addition.
 */
function patchOf({ path, from, to }: Change, contents: Contents, hide: Hide): string {
  const left = from?.type === 'd' ? null : from;
  const right = to?.type === 'd' ? null : to;
  if (left !== null && right !== null && left.type !== right.type) {
    return patchOf({ path, from: left, to: null }, contents, hide) + patchOf({ path, from: null, to: right }, contents, hide);
  }
  const modes = modeLines(left, right);
  const body = left?.hash === right?.hash && left?.link === right?.link ? '' : bodyOf(path, left, right, { contents, hide });
  if (modes === '' && body === '') return '';
  return `diff --git ${quote(`a/${path}`)} ${quote(`b/${path}`)}\n${modes}${body}`;
}

function modeLines(left: ManifestEntry | null, right: ManifestEntry | null): string {
  if (left === null) return right === null ? '' : `new file mode ${gitMode(right)}\n`;
  if (right === null) return `deleted file mode ${gitMode(left)}\n`;
  return gitMode(left) === gitMode(right) ? '' : `old mode ${gitMode(left)}\nnew mode ${gitMode(right)}\n`;
}

function gitMode(entry: ManifestEntry): string {
  if (entry.type === 'l') return '120000';
  return (entry.mode & 0o100) === 0 ? '100644' : '100755';
}

function bodyOf(
  path: BytePath,
  left: ManifestEntry | null,
  right: ManifestEntry | null,
  { contents, hide }: { contents: Contents; hide: Hide },
): string {
  const a = left === null ? '/dev/null' : quote(`a/${path}`);
  const b = right === null ? '/dev/null' : quote(`b/${path}`);
  const before = textOf(left, contents);
  const after = textOf(right, contents);
  if (before === null || after === null) return `Binary files ${a} and ${b} differ\n`;
  if (before === after) return '';
  const tab = path.includes(' ') ? '\t' : '';
  return `--- ${a}${left === null ? '' : tab}\n+++ ${b}${right === null ? '' : tab}\n${hunks(hide(before), hide(after))}`;
}

/** Null for content that is not text, or too long. */
function textOf(entry: ManifestEntry | null, contents: Contents): string | null {
  if (entry === null) return '';
  if (entry.size > MAX_TEXT_BYTES) return null;
  const bytes = entry.type === 'l' ? Buffer.from(entry.link, 'latin1') : readWhole(contents, entry);
  return bytes.includes(0) || !isUtf8(bytes) ? null : bytes.toString('utf8');
}

function hunks(before: string, after: string): string {
  const patch = structuredPatch('a', 'b', before, after, undefined, undefined, { context: 3, maxEditLength: MAX_EDITS });
  if (patch !== undefined) return formatPatch(patch, OMIT_HEADERS);
  const [removed, added] = [wholeSide(before, '-'), wholeSide(after, '+')];
  return `@@ -${removed.range} +${added.range} @@\n${removed.text}${added.text}`;
}

function wholeSide(text: string, sign: string): { range: string; text: string } {
  if (text === '') return { range: '0,0', text: '' };
  const ended = text.endsWith('\n');
  const lines = (ended ? text.slice(0, -1) : text).split('\n');
  const missing = ended ? '' : '\\ No newline at end of file\n';
  return { range: `1,${lines.length}`, text: `${lines.map((line) => `${sign}${line}\n`).join('')}${missing}` };
}

/** Git's C-style quoting of the bytes that need it. */
function quote(path: BytePath): string {
  if (/^[ !#-[\]-~]*$/.test(path)) return path;
  const bytes = Array.from(path, (char) => {
    const byte = char.charCodeAt(0);
    if (char === '"' || char === '\\') return `\\${char}`;
    return byte >= 0x20 && byte < 0x7f ? char : `\\${byte.toString(8).padStart(3, '0')}`;
  });
  return `"${bytes.join('')}"`;
}

/** Limit of the patch text, in UTF-16 units. */
const MAX_PATCH = 1024 * 1024;

/** Describes one change for people and JSON. */
export function describeChange({ path, from, to }: Change) {
  const entry = to ?? from;
  if (entry === null) throw new Error('a change has at least one side');
  return {
    path: displayPath(path),
    op: operation(from, to),
    type: entry.type,
    modeFrom: from === null ? null : octal(from),
    modeTo: to === null ? null : octal(to),
    sizeFrom: from === null ? null : from.size,
    sizeTo: to === null ? null : to.size,
  };
}

function operation(from: ManifestEntry | null, to: ManifestEntry | null): DiffEntry['op'] {
  if (from === null) return 'A';
  if (to === null) return 'D';
  return from.type === to.type ? 'M' : 'T';
}

function octal({ mode }: ManifestEntry): string {
  return mode.toString(8).padStart(4, '0');
}

/** One change as an answer of the keeper has it: what a side lacks is left out. */
function entryOf({ path, from, to }: Change): DiffEntry {
  return {
    path: displayPath(path),
    op: operation(from, to),
    ...(from !== null && { modeFrom: from.mode }),
    ...(to !== null && { modeTo: to.mode }),
    ...(from !== null && { sizeFrom: from.size }),
    ...(to !== null && { sizeTo: to.size }),
  };
}

/** Describes changes and writes the patch, up to its limit; a cut patch ends with a line that reports it. */
export async function makeTreeDiff(
  names: { from: string; to: string },
  all: readonly Change[],
  contents: Contents,
  { slices, hide = (text) => text }: { readonly slices: Slices; readonly hide?: Hide | undefined },
): Promise<TreeDiff> {
  const changes = all.filter((change) => !isTimeOnly(change));
  let unified = '';
  let shown = 0;
  for (const change of changes) {
    const patch = patchOf(change, contents, hide);
    if (unified.length + patch.length > MAX_PATCH) break;
    unified += patch;
    shown++;
    if (slices.due()) await slices.pause();
  }
  if (shown < changes.length) unified += `# cut at ${MAX_PATCH} characters: ${changes.length - shown} more changed paths\n`;
  return { ...names, entries: changes.map(entryOf), unified };
}
