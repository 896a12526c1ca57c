// inference-image, engines/synth/language: text edits and their smallest form. May import base, gpu, models and protocol.
import { createHash } from 'node:crypto';

/** A replacement in UTF-16 units of the unedited text. */
export interface TextEdit {
  readonly start: number;
  readonly end: number;
  readonly after: string;
}

/** Applies edits that do not overlap. */
export function apply(source: string, edits: readonly TextEdit[]): string {
  let text = '';
  let at = 0;
  for (const edit of [...edits].sort((a, b) => a.start - b.start || a.end - b.end)) {
    text += source.slice(at, edit.start) + edit.after;
    at = edit.end;
  }
  return text + source.slice(at);
}

/**
 * The one smallest replacement with the same result: one span, its common prefix cut first, then
 * its common suffix. Two sets of edits have equal results exactly when this is equal. Null when
 * nothing changes.
 */
export function canonical(source: string, edits: readonly TextEdit[]): TextEdit | null {
  if (edits.length === 0) return null;
  const start = Math.min(...edits.map((edit) => edit.start));
  const end = Math.max(...edits.map((edit) => edit.end));
  const before = source.slice(start, end);
  const inside = edits.map((edit) => ({ start: edit.start - start, end: edit.end - start, after: edit.after }));
  const after = apply(before, inside);
  if (before === after) return null;
  const shorter = Math.min(before.length, after.length);
  let head = 0;
  while (head < shorter && before[head] === after[head]) head += 1;
  if (head > 0 && isHighSurrogate(before, head - 1)) head -= 1;
  let tail = 0;
  while (tail < shorter - head && before[before.length - 1 - tail] === after[after.length - 1 - tail]) tail += 1;
  if (tail > 0 && isLowSurrogate(before, before.length - tail)) tail -= 1;
  return { start: start + head, end: end - tail, after: after.slice(head, after.length - tail) };
}

function isHighSurrogate(text: string, at: number): boolean {
  return (text.charCodeAt(at) & 0xfc00) === 0xd800;
}

function isLowSurrogate(text: string, at: number): boolean {
  return (text.charCodeAt(at) & 0xfc00) === 0xdc00;
}

export function sha256(text: string): string {
  return createHash('sha256').update(text).digest('hex');
}
