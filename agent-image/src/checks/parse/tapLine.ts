/** One line of TAP, told apart by its first characters. Indentation is in spaces. */
export type TapLine =
  | {
      readonly type: 'point';
      readonly indent: number;
      readonly ok: boolean;
      readonly number: number | null;
      readonly name: string;
      readonly directive: Directive;
    }
  | { readonly type: 'plan'; readonly indent: number; readonly count: number; readonly reason: string | null }
  | { readonly type: 'bail'; readonly reason: string }
  | { readonly type: 'yaml'; readonly indent: number }
  | { readonly type: 'version' }
  | { readonly type: 'comment'; readonly indent: number; readonly text: string }
  | { readonly type: 'other' };

export type Directive = 'Skip' | 'Todo' | null;

/**
 * Reads a line by the grammar of TAP 14 (testanything.org/tap-version-14-specification), which TAP 13
 * is a subset of: `ok` and `not ok`, optional number, optional ` - `, escapes `\\` and `\#`.
 */
export function tapLine(line: string): TapLine {
  const text = line.trimStart();
  const indent = line.length - text.length;
  if (text.startsWith('#')) return { type: 'comment', indent, text: text.slice(1).trim() };
  if (text.startsWith('Bail out!')) return { type: 'bail', reason: text.slice(9).trim() };
  if (/^---\s*$/.test(text)) return { type: 'yaml', indent };
  if (/^TAP version \d+\s*$/.test(text)) return { type: 'version' };
  const plan = /^1\.\.(\d{1,9})(?:\s+#\s?(\S.*))?\s*$/.exec(text) ?? (/^1\.\.0\b/.test(text) ? ['', '0', text] : null);
  if (plan !== null) return { type: 'plan', indent, count: Number(plan[1]), reason: plan[2] ?? null };
  const point = /^(not )?ok\b(?: +(\d{1,9})\b)?(.*)$/.exec(text);
  if (point === null || (point[3] !== '' && !/^[\s:#-]/.test(point[3] ?? ''))) return { type: 'other' };
  const { name, directive } = description(point[3] ?? '');
  return { type: 'point', indent, ok: point[1] === undefined, number: point[2] === undefined ? null : Number(point[2]), name, directive };
}

/** Splits at the first unescaped `#` that starts a directive, and takes the escapes out. */
function description(text: string): { readonly name: string; readonly directive: Directive } {
  const body = text.trim().replace(/^- ?/, '');
  let name = '';
  for (let at = 0; at < body.length; at += 1) {
    const char = body[at];
    const next = body[at + 1];
    if (char === '\\' && (next === '#' || next === '\\')) {
      name += next;
      at += 1;
    } else if (char === '#') {
      const directive = directiveOf(body.slice(at + 1));
      if (directive !== null) return { name: name.trim(), directive };
      name += char;
    } else name += char;
  }
  return { name: name.trim(), directive: null };
}

function directiveOf(text: string): Directive {
  const word = /^\s*(skip\w*|todo)\b/i.exec(text)?.[1]?.toLowerCase();
  if (word === undefined) return null;
  return word === 'todo' ? 'Todo' : 'Skip';
}
