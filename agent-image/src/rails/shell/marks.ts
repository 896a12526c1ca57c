// agent-image, rails/shell: marks for unknown text and globs in shell words. May import rails/verdict and rails/syntax, no rail.

/**
 * A shell word after expansion is a string in which private-use characters stand for what is not
 * plain text: a hole for what only the run would show, and the glob and brace characters that were
 * not quoted. `withoutMarks` keeps such characters of the input from being mistaken for marks.
 */
export const hole = '\uE000';
export const star = '\uE001';
export const question = '\uE002';
export const bracket = '\uE003';
export const open = '\uE004';
export const comma = '\uE005';
export const close = '\uE006';
export const tilde = '\uE007';

const active: Readonly<Record<string, string>> = { '*': star, '?': question, '[': bracket };
const passive: Readonly<Record<string, string>> = {
  [star]: '*',
  [question]: '?',
  [bracket]: '[',
  [open]: '{',
  [comma]: ',',
  [close]: '}',
  [tilde]: '~',
};
const structure: Readonly<Record<string, string>> = { '{': open, ',': comma, '}': close };

export function withoutMarks(text: string): string {
  return text.replace(/[\uE000-\uE00F]/g, '\uFFFD');
}

/** Marks unquoted glob characters. */
export function markGlobs(text: string): string {
  return text.replace(/[*?[]/g, (found) => active[found] ?? found);
}

/** Marks all that an unquoted literal may mean. */
export function markUnquoted(text: string): string {
  return markGlobs(text).replace(/[{},]/g, (found) => structure[found] ?? found);
}

/** Turns marks back into their characters; holes stay. */
export function plain(text: string): string {
  return text.replace(/[\uE001-\uE007]/g, (found) => passive[found] ?? found);
}

/** For people: holes as an ellipsis. */
export function printable(text: string): string {
  return plain(text).replace(/\uE000+/g, '…');
}

export function hasHole(text: string): boolean {
  return text.includes(hole);
}

export function hasGlob(text: string): boolean {
  return /[\uE001-\uE003]/.test(text);
}

/** The pattern of a marked word; a hole matches anything. */
export function globPattern(text: string): RegExp {
  let out = '';
  for (let i = 0; i < text.length; i += 1) {
    const at = text[i] as string;
    if (at === star || at === hole) out += '.*';
    else if (at === question) out += '.';
    else if (at === bracket) {
      const end = text.indexOf(']', i + 2);
      if (end < 0) out += '\\[';
      else {
        const inside = text
          .slice(i + 1, end)
          .replace(/^[!^]/, '^')
          .replace(/\\/g, '\\\\')
          .replace(/\[/g, '\\[');
        out += `[${inside}]`;
        i = end;
      }
    } else out += at.replace(/[.*+?^${}()|[\]\\/-]/g, '\\$&');
  }
  try {
    return new RegExp(`^(?:${out.replace(/(?:\.\*)+/g, '.*')})$`, 's');
  } catch {
    return /^[^]*$/;
  }
}
