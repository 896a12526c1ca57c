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

/** A part of a pattern: any text, or what one character may be. */
type Token = 'Any' | ((char: string) => boolean);

/** A pattern of more tokens times characters than this is not tried: it matches. */
const maxTries = 1_048_576;

/**
 * Reports for each length whether so much of the beginning of a text matches a marked word, where a hole matches anything; null where
 * that takes too long. No expression of JavaScript does this: `*a*a*a*b` takes one of these exponential time.
 */
export function matchingLengths(word: string, text: string): readonly boolean[] | null {
  return lengthsOf(tokensOf(word), Array.from(text));
}

/** The same for the end of a text. */
export function matchingEnds(word: string, text: string): readonly boolean[] | null {
  return lengthsOf(tokensOf(word).reverse(), Array.from(text).reverse());
}

/** Reports whether a marked word may stand for a name. */
export function matchesGlob(word: string, name: string): boolean {
  const tokens = tokensOf(word);
  if (tokens.filter((token) => token !== 'Any').length > name.length) return false;
  return lengthsOf(tokens, Array.from(name))?.at(-1) !== false;
}

function lengthsOf(tokens: readonly Token[], chars: readonly string[]): readonly boolean[] | null {
  if (tokens.length * chars.length > maxTries) return null;
  let reached: boolean[] = [true, ...chars.map(() => false)];
  for (const token of tokens) {
    let any = false;
    if (token === 'Any') reached = reached.map((here) => (any ||= here));
    else reached = reached.map((_, at) => at > 0 && reached[at - 1] === true && token(chars[at - 1] ?? ''));
  }
  return reached;
}

function tokensOf(word: string): Token[] {
  const tokens: Token[] = [];
  for (let i = 0; i < word.length; i += 1) {
    const at = word[i] as string;
    const end = at === bracket ? word.indexOf(']', i + 2) : -1;
    if (at === star || at === hole) {
      if (tokens.at(-1) !== 'Any') tokens.push('Any');
    } else if (at === question) tokens.push(() => true);
    else if (end >= 0) {
      tokens.push(setOf(word.slice(i + 1, end)));
      i = end;
    } else tokens.push((char) => char === (at === bracket ? '[' : at));
  }
  return tokens;
}

/** `[a-z]`, `[!a]`, `[[:alpha:]]` as far as JavaScript has it; what it has not may be any character. */
function setOf(inside: string): (char: string) => boolean {
  const source = inside.replace(/^[!^]/, '^').replaceAll(/[\\[]/g, '\\$&');
  try {
    const set = new RegExp(`^[${source}]$`, 's');
    return (char) => set.test(char);
  } catch {
    return () => true;
  }
}
