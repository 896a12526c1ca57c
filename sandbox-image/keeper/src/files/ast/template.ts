import { PatternFault } from './pattern.ts';

const part = /\$\$\$([A-Z_][A-Z0-9_]*)|\$([A-Z_][A-Z0-9_]*)/g;

/** @throws PatternFault when a rewrite names what the pattern does not bind */
export function assertBound(rewrite: string, pattern: string): void {
  const bound = new Set([...pattern.matchAll(part)].map(([, many, one]) => many ?? one));
  for (const [whole, many, one] of rewrite.matchAll(part)) {
    const name = many ?? one ?? '_';
    if (name === '_' || !bound.has(name)) throw new PatternFault(`the rewrite has ${whole}, which the pattern does not bind`);
  }
}

/**
 * The text that takes the place of a match. Lines after the first of the rewrite begin as deep as the match's line; what
 * a name stands for is put in as it is. A comma beside a name that stands for nothing goes with it.
 *
 * @param indent white space at the beginning of the line on which the match begins
 */
export function fill(rewrite: string, valueOf: (name: string) => string, indent: string): string {
  let result = '';
  let at = 0;
  const literal = (text: string): string => text.replaceAll('\n', `\n${indent}`);
  for (const found of rewrite.matchAll(part)) {
    result += literal(rewrite.slice(at, found.index));
    at = found.index + found[0].length;
    const value = valueOf(found[1] ?? found[2] ?? '');
    result += value;
    if (value !== '' || found[1] === undefined) continue;
    const trailing = /^\s*,\s*/.exec(rewrite.slice(at));
    if (/,\s*$/.test(result)) result = result.replace(/,\s*$/, '');
    else at += trailing?.[0].length ?? 0;
  }
  return result + literal(rewrite.slice(at));
}
