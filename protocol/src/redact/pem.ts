/** Where the reading of a private key stands: on the line of its header, or on one of its own; null outside of one. */
export type KeyState = 'Header' | 'Head' | 'Body' | 'Tail' | null;

const begin = /-----BEGIN (?:[A-Z0-9]{1,16} ){0,3}PRIVATE KEY(?: BLOCK)?-----/g;
const end = /-----END (?:[A-Z0-9]{1,16} ){0,3}PRIVATE KEY(?: BLOCK)?-----/;
/** The rest of a key whose newlines are written as `\n`. */
const escaped = /(?:\\r|\\n|[A-Za-z0-9+/=]){0,16384}(?:-----END (?:[A-Z0-9]{1,16} ){0,3}PRIVATE KEY(?: BLOCK)?-----)?/y;

/** Where the header of the next key stands; null for none. */
export function nextKey(text: string): { readonly start: number; readonly end: number } | null {
  begin.lastIndex = 0;
  const head = begin.exec(text);
  return head === null ? null : { start: head.index, end: begin.lastIndex };
}

/** How much of what follows a header on its line belongs to the key. */
export function keyInLine(text: string): number {
  escaped.lastIndex = 0;
  return escaped.exec(text)?.[0].length ?? 0;
}

/**
 * What a line inside a key leads to: the next state, `End` after its last line, or `Not` for a line that is none of a key's,
 * so that a text that only mentions a key hides nothing else. Diffs put a sign before their lines.
 */
export function keyLine(line: string, state: KeyState): KeyState | 'End' | 'Not' {
  const text = line.replace(/[\r\n]+$/, '').replace(/^[ \t]*[+-]?[ \t]*(?=[A-Za-z0-9+/=]|$)/, '');
  if (end.test(line)) return 'End';
  if (state === 'Tail') return 'Not';
  if (state === 'Head' && (text === '' || /^[A-Za-z-]{3,16}: .{1,128}$/.test(text))) return 'Head';
  if (/^[A-Za-z0-9+/=]{40,128}$/.test(text)) return 'Body';
  if (state === 'Body' && /^=?[A-Za-z0-9+/=]{1,39}$/.test(text)) return 'Tail';
  return 'Not';
}

/** Where an unfinished beginning of a key may stand at the end of a text; its length when there is none. */
export function openKey(text: string): number {
  const at = text.lastIndexOf('-----BEGIN');
  if (at !== -1 && text.length - at < 80 && !text.slice(at).includes('\n') && !/-----BEGIN[^-]*-----/.test(text.slice(at))) return at;
  const last = text.slice(-9);
  const dashes = /-{1,5}(?:B|BE|BEG|BEGI)?$/.exec(last);
  return dashes === null ? text.length : text.length - last.length + dashes.index;
}
