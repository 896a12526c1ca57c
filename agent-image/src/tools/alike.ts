// agent-image, tools: the one place of a file that an edit means whose old text is not quite there. Pure. Imports nothing of other folders.
import { linesOf } from './tool.ts';

/** A place of a text, what stands there afterwards, and in which way it is not what was named. */
interface Alike {
  readonly from: number;
  readonly to: number;
  readonly put: string;
  readonly note: string;
}

/** Numbers that lists of lines have before each: `12 | x`, `12<tab>x`, `a.py:12: x`. */
const number = /^(?:[> ]{0,2} *|\S{1,200}:)\d+(?: \| ?|\t|: )/;

/** A text without the numbers before its lines; null where not all lines have one. */
function withoutNumbers(text: string): string | null {
  const lines = text.split('\n');
  const ends = lines.at(-1) === '' && lines.length > 1 ? 1 : 0;
  const own = lines.slice(0, lines.length - ends);
  return own.every((line) => number.test(line)) ? [...own.map((line) => line.replace(number, '')), ...lines.slice(own.length)].join('\n') : null;
} // prettier-ignore

/**
 * Finds the one place that differs from `old` in line numbers before its lines, in kinds of dashes, quotes and spaces, or in whitespace alone.
 * What of `fresh` is as in `old` stays as the file has it, and its lines are indented like those of the file. Null: there is none, or more than
 * one, or the indentation of `fresh` could mean something else there.
 */
export function alike(text: string, old: string, fresh: string): Alike | null {
  const bare = withoutNumbers(old);
  if (bare === null) return byCharacters(text, old, fresh) ?? byLines(text, old, fresh);
  // One with numbers in a part of its lines may mean them.
  const put = withoutNumbers(fresh) ?? (fresh.split('\n').some((line) => number.test(line)) ? null : fresh);
  const at = bare.trim() === '' || put === null || put === bare ? -1 : onlyPlace(text, bare);
  return at < 0 || put === null ? null : { from: at, to: at + bare.length, put, note: ', without the line numbers of old_text' };
}

/** Index of a text that occurs once; -1: it occurs nowhere, or more often. */
function onlyPlace(text: string, wanted: string): number {
  const at = text.indexOf(wanted);
  return at >= 0 && text.includes(wanted, at + 1) ? -1 : at;
}

const kinds: readonly (readonly [RegExp, string])[] = [
  [/[\u2010-\u2015\u2212]/g, '-'],
  [/[\u2018-\u201b\u2032]/g, "'"],
  [/[\u201c-\u201f\u2033]/g, '"'],
  [/[\u00a0\u2000-\u200a\u202f\u3000]/g, ' '],
];
/** A text of the same length with one kind of dashes, quotes and spaces. */
const plainer = (text: string): string => kinds.reduce((one, [kind, by]) => one.replaceAll(kind, by), text);

function byCharacters(text: string, old: string, fresh: string): Alike | null {
  const at = old.trim() === '' ? -1 : onlyPlace(plainer(text), plainer(old));
  if (at < 0) return null;
  const there = text.slice(at, at + old.length);
  // What both texts begin and end with stays.
  let begin = 0;
  while (begin < Math.min(old.length, fresh.length) && old[begin] === fresh[begin]) begin += 1;
  let end = 0;
  while (end < Math.min(old.length, fresh.length) - begin && old.at(-1 - end) === fresh.at(-1 - end)) end += 1;
  const put = there.slice(0, begin) + fresh.slice(begin, fresh.length - end) + there.slice(there.length - end);
  return { from: at, to: at + old.length, put, note: ', which has other dashes, quotes or spaces there than old_text' };
}

const squeezed = (line: string): string => plainer(line).replaceAll(/\s+/g, ' ').trim();
const indentOf = (line: string): string => /^[ \t]*/.exec(line)?.[0] ?? '';

function byLines(text: string, old: string, fresh: string): Alike | null {
  const [file, wanted, made] = [text.split('\n'), linesOf(old), linesOf(fresh)];
  const targets = wanted.map(squeezed);
  // An edit of whitespace means it.
  if (targets.join('').length < leastText || targets.join('\n') === made.map(squeezed).join('\n')) return null;
  const bare = file.map(squeezed);
  const found = [...bare.keys()].filter((at) => targets.every((line, n) => bare[at + n] === line));
  const [at] = found;
  if (at === undefined || found.length > 1) return null;
  const there = file.slice(at, at + wanted.length).map((line) => line.replace(/\r$/, ''));
  const pairs = wanted.flatMap((line, n) => (targets[n] === '' ? [] : [[indentOf(line), indentOf(there[n] ?? '')] as const]));
  const move = moveOf(pairs);
  // A new text that begins elsewhere than the old one may be indented like the file already.
  const [first, begins] = [wanted, made].map((lines) => indentOf(lines.find((line) => line.trim() !== '') ?? ''));
  if (first !== begins && made.length > 0 && pairs.some(([from, to]) => from !== to)) return null;
  const lines = move === null ? [] : made.map((line) => there[wanted.indexOf(line)] ?? movedBy(line, move));
  if (move === null || lines.includes(null)) return null;
  const from = file.slice(0, at).join('\n').length + (at > 0 ? 1 : 0);
  const to = from + file.slice(at, at + wanted.length).join('\n').length;
  const eol = file[at]?.endsWith('\r') === true ? '\r\n' : '\n';
  const note = ', which has other whitespace there than old_text';
  return { from, note, ...ended(text, to, { put: lines.join(eol), old, fresh, eol }) };
}

/** Characters of the lines by which a place is found. */
const leastText = 6;

interface Ending {
  readonly put: string;
  readonly old: string;
  readonly fresh: string;
  readonly eol: string;
}

/** The end of the place, with the line feed after its last line where the old text has one. */
function ended(text: string, to: number, { put, old, fresh, eol }: Ending): Pick<Alike, 'to' | 'put'> {
  const more = fresh.endsWith('\n') ? eol : '';
  if (!old.endsWith('\n')) return { to: text[to - 1] === '\r' ? to - 1 : to, put: put + more };
  return to >= text.length ? { to, put } : { to: to + 1, put: put + more };
}

type Move = (indent: string) => string | null;

function movedBy(line: string, move: Move): string | null {
  if (line.trim() === '') return line;
  const indent = indentOf(line);
  const moved = move(indent);
  return moved === null ? null : moved + line.slice(indent.length);
}

/** Returns the way in which all lines are indented anew: more, less, or by tabs for spaces; null: not all in the same way. */
function moveOf(pairs: readonly (readonly [old: string, there: string])[]): Move | null {
  const [[old, there] = ['', '']] = pairs;
  const more = there.endsWith(old) ? there.slice(0, there.length - old.length) : '';
  const less = old.endsWith(there) ? old.slice(0, old.length - there.length) : '';
  const moves: readonly Move[] = [
    (indent) => more + indent,
    (indent) => (indent.startsWith(less) ? indent.slice(less.length) : null),
    ...[2, 3, 4, 8].flatMap((width): readonly Move[] => [
      (indent) => (/^ *$/.test(indent) && indent.length % width === 0 ? '\t'.repeat(indent.length / width) : null),
      (indent) => (/^\t*$/.test(indent) ? ' '.repeat(indent.length * width) : null),
    ]),
  ];
  return moves.find((move) => pairs.every(([from, to]) => move(from) === to)) ?? null;
}
