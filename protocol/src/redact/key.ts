import { redactionMarker } from '../keeper/index.ts';

/** State of the reading of a private key: on the line of its header, or on one of its own; null outside of one. */
export type KeyState = 'Header' | 'Head' | 'Body' | 'Tail' | null;

const begin = /-----BEGIN (?:[A-Z0-9]{1,16} ){0,3}PRIVATE KEY(?: BLOCK)?-----/g;
const end = /-----END (?:[A-Z0-9]{1,16} ){0,3}PRIVATE KEY(?: BLOCK)?-----/;
/** Newlines as JSON writes them, also JSON within JSON. */
const newline = '\\\\{1,8}[rn]';
const blank = `(?:[ \\t\\r"',]|${newline})`;
const fields =
  '(?:Proc-Type: ?\\d,[A-Z]{1,20}|DEK-Info: ?[A-Za-z0-9-]{1,32},[A-Fa-f0-9]{1,64}|(?:Version|Comment|Hash|Charset): [^\\\\"\\r\\n]{1,128})';
/** The rest of a key whose newlines are written as `\n` or are a bare `\r`, became spaces, or part the texts of a list. */
const escaped = new RegExp(
  `(?:${blank}{1,8}${fields}){0,4}(?:\\\\{1,8}[rn/]|[A-Za-z0-9+/=]){0,16384}` +
    `(?:${blank}{1,8}[A-Za-z0-9+/=]{40,128}(?![A-Za-z0-9+/=])){0,256}` +
    `(?:${blank}{1,8}=?[A-Za-z0-9+/=]{1,39}(?=${blank}{1,8}(?:=[A-Za-z0-9+/]{4}${blank}{1,8})?-----END)){0,2}` +
    `(?:${blank}{0,8}${end.source})?`,
  'y',
);

/** Returns the position of the header of the next key; null for none. */
export function nextKey(text: string): { readonly start: number; readonly end: number } | null {
  begin.lastIndex = 0;
  const head = begin.exec(text);
  return head === null ? null : { start: head.index, end: begin.lastIndex };
}

/** Returns how many of the characters after a header on its line belong to the key. */
function keyInLine(text: string): number {
  escaped.lastIndex = 0;
  return escaped.exec(text)?.[0].length ?? 0;
}

/** Text around each line of a shown key: a number, a time, the name of a pod, the members of a record. */
export interface Around {
  /** Null where nothing stands there, or too much to be the like of all lines. */
  readonly prefix: RegExp | null;
  /** Null where nothing but signs stands there; else each line ends with it, and its first group is what stands before. */
  readonly suffix: RegExp | null;
}

/** Less than the context of a line that a {@link Redactor} keeps. */
const longestAround = 400;
const longestKeyLine = 160;

/**
 * Returns patterns of the text around the header of a key, for its other lines.
 *
 * @param before text before the header, of which the last line counts
 * @param behind rest of its line, behind the part of the key on it
 * @returns null when no line of the key follows
 */
function aroundKey(before: string, behind: string): Around | null {
  const [left, right] = [before.slice(before.lastIndexOf('\n') + 1), behind.trimEnd()];
  const prefix = left.trim() === '' || left.length > longestAround ? null : new RegExp(`^${likeOf(left)}`);
  if (/^[^A-Za-z0-9]{0,8}$/.test(right.trim())) return { prefix, suffix: null };
  return right.length > longestAround ? null : { prefix, suffix: new RegExp(`^(.{0,${longestKeyLine}}?)${likeOf(right)}$`) };
}

/** A pattern for the same text with other numbers and other blanks. */
function likeOf(text: string): string {
  const parts = text.match(/\d+|\s+|[^\d\s]+/g) ?? [];
  // Between two numbers at least one blank, so that there is one way to match.
  const pattern = parts.map((part, at) => {
    if (/^\s/.test(part)) return `\\s{${at === 0 ? 0 : 1},16}`;
    return /^\d/.test(part) ? '\\d{1,20}' : part.replaceAll(/[\\^$.*+?()[\]{}|]/g, '\\$&');
  });
  return pattern.join('');
}

/** Signs of diffs and quotations, quotes and what joins them, around a line of a key. */
const [leading, trailing] = [
  /^[ \t]{0,64}[-+<>|]?[ \t]{0,64}["'`]?(?=[A-Za-z0-9+/=]|$)/,
  /(?:\\{1,8}[rn]){0,2}["'`]?[ \t]{0,4}[+,;)}\]\\]{0,3}[ \t]{0,4}$/,
];
/** A line of a key behind something else than its header: too long for a word. */
const decorated = /^[^\n]{0,160}?(?<![A-Za-z0-9+/=])[A-Za-z0-9+/=]{40,128}(?![A-Za-z0-9+/=])[^A-Za-z0-9\n]{0,16}$/;

/**
 * Returns the state after a line inside a key: the next state, `End` after its last line, or `Not` for a line that is none of a
 * key's, so that a text that only mentions a key hides nothing else.
 */
export function keyLine(line: string, state: KeyState, { prefix, suffix }: Around): KeyState | 'End' | 'Not' {
  if (end.test(line)) return 'End';
  const whole = line.trimEnd();
  const own = prefix === null ? whole : whole.replace(prefix, '');
  const bare = suffix === null ? own : suffix.exec(own)?.[1];
  if (bare === undefined) return 'Not';
  const text = bare.replace(leading, '').replaceAll('\\/', '/');
  if (state !== 'Tail' && /^(?:\s|\\[rn])*$/.test(text)) return state;
  const word = text.replace(trailing, '');
  if (state === 'Tail') return /^=[A-Za-z0-9+/]{4}$/.test(word) ? 'Tail' : 'Not';
  if (state === 'Head' && /^(?:Proc-Type|DEK-Info|Version|Comment|Hash|Charset): .{1,128}$/.test(word)) return 'Head';
  if (/^[A-Za-z0-9+/=]{40,128}$/.test(word) || decorated.test(bare)) return 'Body';
  if (state === 'Body' && /^=?[A-Za-z0-9+/=]{1,39}$/.test(word)) return 'Tail';
  return 'Not';
}

/**
 * A whole text in which each line of a key after its header is a marker, so that any of its lines can be shown by themselves, and
 * have the numbers that they have in the file. Headers are left for what redacts the shown lines.
 */
export function hideKeyLines(text: string): string {
  if (nextKey(text) === null) return text;
  let state: KeyState = null;
  let around: Around | null = null;
  return text
    .split('\n')
    .map((line) => {
      const next = around === null ? 'Not' : keyLine(line, state, around);
      if (next !== 'Not') {
        [state, around] = next === 'End' ? [null, null] : [next, around];
        return redactionMarker('PrivateKey');
      }
      const key = nextKey(line);
      around = key === null ? null : afterHeader(line.slice(0, key.start), line.slice(key.end)).around;
      state = 'Head';
      return line;
    })
    .join('\n');
}

/**
 * Reads what follows a header on its line.
 *
 * @returns how much of it belongs to the key, and what stands around its other lines; null when it ends here
 */
export function afterHeader(before: string, rest: string): { readonly length: number; readonly around: Around | null } {
  const length = keyInLine(rest);
  return { length, around: end.test(rest.slice(0, length)) ? null : aroundKey(before, rest.slice(length)) };
}

/** Returns the position of a possible unfinished beginning of a key at the end of a text; the text's length when there is none. */
export function openKey(text: string): number {
  const at = text.lastIndexOf('-----BEGIN');
  if (at !== -1 && text.length - at < 80 && !text.slice(at).includes('\n') && !/-----BEGIN[^-]*-----/.test(text.slice(at))) return at;
  const last = text.slice(-9);
  const dashes = /-{1,5}(?:B|BE|BEG|BEGI)?$/.exec(last);
  return dashes === null ? text.length : text.length - last.length + dashes.index;
}
