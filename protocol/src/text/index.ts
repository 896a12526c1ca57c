/** Text for people and terminals, parts of long text, JSON in its one spelling, and members of what was read. Imports nothing. */

/**
 * Canonical JSON by RFC 8785 (JCS): keys in UTF-16 order, no blanks, numbers and strings
 * as ECMAScript writes them. Members that are `undefined` are left out, as in `JSON.stringify`.
 *
 * @example canonicalJson({ b: 1, a: [true, null] }) // '{"a":[true,null],"b":1}'
 * @throws TypeError for what JSON cannot hold (functions, bigint, NaN, infinities)
 */
export function canonicalJson(value: unknown): string {
  if (value === null || typeof value === 'boolean' || typeof value === 'string') return JSON.stringify(value);
  if (typeof value === 'number') {
    if (!Number.isFinite(value)) throw new TypeError(`canonical JSON has no ${String(value)}`);
    return JSON.stringify(value);
  }
  if (Array.isArray(value)) return `[${value.map((item: unknown) => canonicalJson(item ?? null)).join(',')}]`;
  if (typeof value !== 'object') throw new TypeError(`canonical JSON has no ${typeof value}`);
  const members = Object.entries(value as Record<string, unknown>)
    .filter(([, member]) => member !== undefined)
    .sort(([a], [b]) => (a < b ? -1 : 1))
    .map(([key, member]) => `${JSON.stringify(key)}:${canonicalJson(member)}`);
  return `{${members.join(',')}}`;
}

/** Members of something that was read: any of them may be missing, or be something else. */
export type Fields = Readonly<Record<string, unknown>>;

/** The members of an object; none of anything else. */
export const fieldsOf = (value: unknown): Fields =>
  typeof value === 'object' && value !== null && !Array.isArray(value) ? { ...value } : {};

/** The elements of a list; none of anything else. */
export const listOf = (value: unknown): readonly unknown[] => (Array.isArray(value) ? value : []);

/** A text; empty for anything else. */
export const textOf = (value: unknown): string => (typeof value === 'string' ? value : '');

/** The value of JSON; undefined for a text that is none. */
export function jsonOf(text: string): unknown {
  try {
    return JSON.parse(text);
  } catch {
    return undefined;
  }
}

/** Everything that a terminal obeys instead of showing it, and what turns or hides text. */
const obeyed = /[\p{Cc}\p{Cf}\p{Zl}\p{Zp}]/gu;

/**
 * Words that an agent may have chosen, on one line: nothing in them moves the cursor, changes what was printed before, or
 * reads from right to left. What people approve must be what they see.
 *
 * @example
 * printable('rm\u001b[2K'); // 'rm\\u{1b}[2K'
 */
export function printable(text: string): string {
  return text.replaceAll(obeyed, (character) => `\\u{${(character.codePointAt(0) ?? 0).toString(16)}}`);
}

/** The same for text of several lines: line feeds and tabs stay. */
export function printableLines(text: string): readonly string[] {
  return text.split('\n').map((line) => line.split('\t').map(printable).join('\t'));
}

/**
 * Returns parts that hold all of a text, as few as do: the text itself where it has at most `size` UTF-16 units, else parts of
 * that size of which neighbours share at least `overlap`, so that a piece that is no longer than that is whole in one of them.
 * `size` must be larger than `overlap`. Pure.
 *
 * @example
 * windowsOf('01234567', 5, 2) // ['01234', '34567']
 */
export function windowsOf(text: string, size: number, overlap: number): readonly string[] {
  if (text.length <= size) return [text];
  const last = Math.ceil((text.length - size) / (size - overlap));
  return Array.from({ length: last + 1 }, (_, at) => {
    const from = Math.floor((at * (text.length - size)) / last);
    return text.slice(from, from + size);
  });
}
