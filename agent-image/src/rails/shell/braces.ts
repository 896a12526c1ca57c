import type { Value } from './command.ts';
import { close, comma, open } from './marks.ts';

/** An expansion inside a word: what it may become, each a list of fields. */
export interface Expansion {
  readonly alternatives: readonly (readonly Value[])[];
  readonly quoted: boolean;
}

/** A part of a word: literal text with marks, or an expansion. `quoted` text never splits and makes a field even when empty. */
export type Piece = { readonly literal: string; readonly quoted: boolean } | Expansion;

const maxWords = 64;
const maxSteps = 32;
const maxMarks = 256;

/** Brace expansion as bash does it, before all others. Null when there would be more than 64 words. */
export function expandBraces(pieces: readonly Piece[]): readonly (readonly Piece[])[] | null {
  if (!pieces.some((piece) => 'literal' in piece && !piece.quoted && piece.literal.includes(open))) return [pieces];
  let done: (readonly Piece[])[] = [];
  const todo: (readonly Piece[])[] = [split(pieces)];
  if ((todo[0] as readonly Piece[]).length > maxMarks) return null;
  for (let word = todo.shift(); word !== undefined; word = todo.shift()) {
    const next = once(word);
    if (next === null) done.push(word);
    else todo.unshift(...next);
    if (done.length + todo.length > maxWords) return null;
  }
  done = done.map((word) => word.map(literally));
  return done;
}

/** One piece per marked character, so that positions are piece numbers. */
function split(pieces: readonly Piece[]): readonly Piece[] {
  return pieces.flatMap((piece) => {
    if (!('literal' in piece) || piece.quoted) return [piece];
    return piece.literal.split(/([\uE004-\uE006])/).flatMap((literal) => (literal === '' ? [] : [{ literal, quoted: false }]));
  });
}

function is(piece: Piece | undefined, mark: string): boolean {
  return piece !== undefined && 'literal' in piece && !piece.quoted && piece.literal === mark;
}

function literally(piece: Piece): Piece {
  if (!('literal' in piece) || piece.quoted) return piece;
  return { literal: piece.literal.replaceAll(open, '{').replaceAll(comma, ',').replaceAll(close, '}'), quoted: false };
}

/** Expands the first brace pair that is one; null when there is none. */
function once(word: readonly Piece[]): readonly (readonly Piece[])[] | null {
  for (let from = 0; from < word.length; from += 1) {
    if (!is(word[from], open)) continue;
    const commas: number[] = [];
    let depth = 0;
    for (let at = from; at < word.length; at += 1) {
      if (is(word[at], open)) depth += 1;
      else if (is(word[at], comma) && depth === 1) commas.push(at);
      else if (is(word[at], close) && (depth -= 1) === 0) {
        const parts = commas.length > 0 ? between(word, [from, ...commas, at]) : sequence(word.slice(from + 1, at));
        if (parts === null) break;
        return parts.map((part) => [...word.slice(0, from), ...part, ...word.slice(at + 1)]);
      }
    }
  }
  return null;
}

function between(word: readonly Piece[], cuts: readonly number[]): readonly (readonly Piece[])[] {
  return cuts.slice(1).map((cut, i) => word.slice((cuts[i] as number) + 1, cut));
}

/** `{1..9}` and `{a..e}`; long ones are cut, their members are alike. */
function sequence(inside: readonly Piece[]): readonly (readonly Piece[])[] | null {
  const text = inside.map((piece) => ('literal' in piece && !piece.quoted ? piece.literal : '\0')).join('');
  const found = /^(-?\d{1,9}|[A-Za-z])\.\.(-?\d{1,9}|[A-Za-z])(?:\.\.(-?\d{1,9}))?$/.exec(text);
  if (found === null) return null;
  const numeric = /\d/.test(found[1] as string);
  const value = (one: string): number => (numeric ? Number(one) : one.charCodeAt(0));
  const [first, last] = [value(found[1] as string), value(found[2] as string)];
  const step = Math.max(1, Math.abs(Number(found[3] ?? 1))) * (first <= last ? 1 : -1);
  const out: Piece[][] = [];
  for (let at = first; out.length < maxSteps && (step > 0 ? at <= last : at >= last); at += step) {
    out.push([{ literal: numeric ? String(at) : String.fromCharCode(at), quoted: false }]);
  }
  return out;
}
