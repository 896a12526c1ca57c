import { lookup } from './lookup.ts';
import { markUnquoted, tilde } from './marks.ts';

/** An unquoted literal: backslashes removed, what is special marked. */
export function unquoted(text: string, startsWord: boolean): string {
  let out = '';
  for (let i = 0; i < text.length; i += 1) {
    const at = text[i] as string;
    if (at === '\\') {
      i += 1;
      if (text[i] !== '\n') out += text[i] ?? '\\';
    } else if (at === '~' && i === 0 && startsWord) out += tilde;
    else out += markUnquoted(at);
  }
  return out;
}

/** Text inside double quotes or an expanding here-document. */
export function doubleQuoted(text: string): string {
  return text.replace(/\\(\n|[$`"\\])/g, (_, found: string) => (found === '\n' ? '' : found));
}

const simple: Readonly<Record<string, string>> = { n: '\n', t: '\t', r: '\r', a: '\x07', b: '\b', e: '\x1b', E: '\x1b', f: '\f', v: '\v' };

/** What stands in `$'…'`, and what `echo -e` and printf make of escapes. */
export function escapes(text: string): string {
  return text.replace(
    /\\(?:x([0-9a-fA-F]{1,2})|u([0-9a-fA-F]{1,4})|U([0-9a-fA-F]{1,8})|0?([0-7]{1,3})|c(.)|([^]))/g,
    (_, hex?: string, short?: string, long?: string, octal?: string, control?: string, other?: string) => {
      const code = hex ?? short ?? long;
      if (code !== undefined) return character(Number.parseInt(code, 16));
      if (octal !== undefined) return character(Number.parseInt(octal, 8) & 255);
      if (control !== undefined) return character(control.charCodeAt(0) & 31);
      return lookup(simple, other as string) ?? (/[\\'"?]/.test(other as string) ? (other as string) : `\\${other}`);
    },
  );
}

function character(code: number): string {
  return code > 0x10ffff || (code >= 0xd800 && code <= 0xf8ff) ? '\uFFFD' : String.fromCodePoint(code);
}
