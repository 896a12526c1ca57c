/** Tests of texts whose time grows linearly with the text. */

/** Whether a text shows something. */
export interface Pattern {
  test(text: string): boolean;
}

/** Shown by texts that show one of them. */
export function anyOf(...patterns: readonly Pattern[]): Pattern {
  return { test: (text) => patterns.some((pattern) => pattern.test(text)) };
}

const lineEnd = /[\n\r\u2028\u2029]/g;

interface Match {
  readonly start: number;
  readonly end: number;
}

/** Finds the first match that starts at a place or behind it, for places that never go back: the text is read once. */
function cursor(pattern: RegExp, text: string): (from: number) => Match | undefined {
  let found: Match | undefined = { start: -1, end: 0 };
  return (from) => {
    if (found === undefined || found.start >= from) return found;
    pattern.lastIndex = from;
    const match = pattern.exec(text);
    found = match === null ? undefined : { start: match.index, end: match.index + match[0].length };
    return found;
  };
}

/**
 * Shown by texts with a line that has all parts, one behind the other: as `/one.*two/`, which takes quadratic time where a
 * line repeats the first part. Parts match at least one character, and none of their matches is inside another one.
 */
export function inOrder(...parts: readonly [RegExp, ...RegExp[]]): Pattern {
  const [first, ...others] = parts.map(({ source, flags }) => new RegExp(source, `${flags}g`)) as [RegExp, ...RegExp[]];
  return {
    test: (text) => {
      const begin = cursor(first, text);
      const rest = others.map((other) => ({ next: cursor(other, text), line: cursor(lineEnd, text) }));
      /** The end of all parts behind a place on its line; undefined: they are not there. */
      const endOf = (from: number): number | undefined =>
        rest.reduce<number | undefined>((end, { next, line }) => {
          if (end === undefined) return undefined;
          const match = next(end);
          return match === undefined || match.start > (line(end)?.start ?? text.length) ? undefined : match.end;
        }, from);
      for (let at = begin(0); at !== undefined; at = begin(at.end)) if (endOf(at.end) !== undefined) return true;
      return false;
    },
  };
}
