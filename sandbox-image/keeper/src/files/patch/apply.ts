import { occurrences } from '../replace.ts';
import type { Hunk } from './parse.ts';

/** The new content and the hunks that were found at another line; or why a hunk does not fit. */
export type Applied =
  | { readonly content: string; readonly offsets: readonly { readonly hunk: number; readonly lines: number }[] }
  | { readonly hunk: Hunk; readonly why: string };

/** Lines with their ends; a last one may have none. No content has no lines. */
export function linesOf(content: string): readonly string[] {
  return content.match(/[^\n]*\n|[^\n]+$/g) ?? [];
}

/** Bound of searches for moved hunks: this many passes over the lines of a file on average. */
const searches = 8;
const freeSteps = 100_000;

/**
 * Applies the hunks of one file in their order; context must match byte for byte. Pure; contents are bytes (latin1). A
 * hunk is tried at its line, shifted like the hunk before it; then at the only place after the last hunk where it fits.
 */
export function applyHunks(content: string, hunks: readonly Hunk[]): Applied {
  const lines = linesOf(content);
  const result: string[] = [];
  const offsets: { hunk: number; lines: number }[] = [];
  const budget = { steps: searches * lines.length + freeSteps };
  let [end, moved] = [0, 0];
  for (const hunk of hunks) {
    const stated = hunk.before.length === 0 ? hunk.start : hunk.start - 1;
    const place = placeOf({ lines, end, guess: stated + moved }, hunk, stated, budget);
    if (typeof place === 'string') return { hunk, why: place };
    moved = place - stated;
    if (moved !== 0) offsets.push({ hunk: hunk.number, lines: moved });
    for (; end < place; end++) result.push(lines[end] ?? '');
    const first = result.length;
    for (const line of hunk.after) result.push(line);
    end += hunk.before.length;
    if (isTorn(result, first, end < lines.length)) return { hunk, why: 'a line without a newline would stand in the middle of the file' };
  }
  for (; end < lines.length; end++) result.push(lines[end] ?? '');
  return { content: result.join(''), offsets };
}

interface Search {
  readonly lines: readonly string[];
  /** Lines that the hunks before have dealt with. */
  readonly end: number;
  readonly guess: number;
}

/** Returns the place of a hunk, or why it has none. */
function placeOf({ lines, end, guess }: Search, { before }: Hunk, stated: number, budget: { steps: number }): number | string {
  const fits = (at: number): boolean =>
    at >= end && at + before.length <= lines.length && before.every((line, n) => line === lines[at + n]);
  if (fits(guess)) return guess;
  if (before.length === 0) {
    return guess < end ? 'it goes before the end of the hunk above it' : `the file has ${lines.length} lines, it goes after line ${stated}`;
  }
  if (fits(stated)) return stated;
  const why = mismatch(lines, before, Math.max(guess, end));
  budget.steps -= lines.length - end;
  if (budget.steps < 0) return `${why}; too many hunks before it were not at their lines to search for it`;
  const others = occurrences(lines, before, 2, end);
  const [only] = others;
  if (only !== undefined && others.length === 1) return only;
  return others.length > 1 ? `${why}; it fits at several other lines` : why;
}

function mismatch(lines: readonly string[], before: readonly string[], at: number): string {
  const first = before.findIndex((line, n) => line !== lines[at + n]);
  const n = Math.max(0, first);
  const there = lines[at + n];
  const what = there === undefined ? `is not there, the file has ${lines.length} lines` : `is ${shown(there)}`;
  return `line ${at + n + 1} of the file ${what}, the hunk has ${shown(before[n] ?? '')}`;
}

function shown(line: string): string {
  const text = Buffer.from(line.replace(/\n$/, '').slice(0, 120), 'latin1').toString('utf8');
  return `${JSON.stringify(text)}${line.endsWith('\n') ? '' : ' without a newline'}`;
}

/** Reports whether a line from the one before `first` on has no newline and is not the last. */
function isTorn(result: readonly string[], first: number, more: boolean): boolean {
  const last = more ? result.length : result.length - 1;
  for (let at = Math.max(0, first - 1); at < last; at++) {
    if (result[at]?.endsWith('\n') === false) return true;
  }
  return false;
}
