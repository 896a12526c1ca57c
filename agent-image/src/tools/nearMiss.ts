import { linesOf, numbered } from './tool.ts';

/** Places that a message shows, lines of one of them, and lines of a file that are searched. */
const maxPlaces = 2;
const maxShown = 12;
const maxLooked = 50_000;

/** Explains why a text does not occur in a file, and where the closest text is. Both without secrets. */
export function nearMiss(content: string, old: string): string {
  const slip = slipOf(content, old);
  if (slip !== null) return slip;
  const [file, wanted] = [linesOf(content).slice(0, maxLooked), linesOf(old)];
  const places = closest(file, wanted);
  if (places.length === 0) return 'nothing in the file is like it; read the file first';
  return `closest:\n${places.map((at) => shown(file, wanted, at)).join('\n')}`;
}

/** Typical slips of models that copy text. */
function slipOf(content: string, old: string): string | null {
  if (/\[REDACTED(?::\w+)?\]/.test(old))
    return 'old_text holds a mark [REDACTED…], which stands for a secret that is in the file; choose lines without it';
  const bare = old.replaceAll(/^ *\d+ \| ?/gm, '');
  if (bare !== old && bare !== '' && content.includes(bare)) return 'old_text holds line numbers; send it without them';
  const unescaped = old
    .replaceAll(String.raw`\n`, '\n')
    .replaceAll(String.raw`\t`, '\t')
    .replaceAll(String.raw`\"`, '"');
  if (unescaped !== old && content.includes(unescaped))
    return String.raw`old_text has \n, \t or \" as two characters where the file has one; escape it once only`;
  return null;
}

/** Lines at which the best likenesses begin, from 0, best first. */
function closest(file: readonly string[], wanted: readonly string[]): readonly number[] {
  const size = Math.min(wanted.length, file.length);
  if (size === 0) return [];
  const targets = wanted.map((line) => ({ bare: squeezed(line), pairs: pairsOf(line) }));
  const known = new Set(targets.map(({ bare }) => bare).filter((bare) => bare !== ''));
  const bare = file.map(squeezed);
  const anchored = bare.some((line) => known.has(line));
  const scores: { readonly at: number; readonly score: number }[] = [];
  for (let at = 0; at + size <= file.length; at += 1) {
    let score = 0;
    for (let i = 0; i < size; i += 1) {
      const target = targets[i];
      if (target === undefined || target.bare === '') continue;
      if (bare[at + i] === target.bare) score += 1;
      else if (!anchored || size <= 3) score += 0.9 * likeness(target.pairs, pairsOf(file[at + i] ?? ''));
    }
    if (score > 0.4) scores.push({ at, score });
  }
  const best = scores.toSorted((a, b) => b.score - a.score || a.at - b.at);
  return best
    .filter(({ score }) => score >= 0.9 * (best[0]?.score ?? 0))
    .slice(0, maxPlaces)
    .map(({ at }) => at);
}

const squeezed = (line: string): string => line.replaceAll(/\s+/g, ' ').trim();

function pairsOf(line: string): ReadonlySet<string> {
  const text = squeezed(line).slice(0, 400);
  return new Set(Array.from({ length: Math.max(0, text.length - 1) }, (_, at) => text.slice(at, at + 2)));
}

/** Share of the pairs of characters that two lines have in common, from 0 to 1. */
function likeness(a: ReadonlySet<string>, b: ReadonlySet<string>): number {
  if (a.size === 0 || b.size === 0) return 0;
  let common = 0;
  for (const pair of a) if (b.has(pair)) common += 1;
  return (2 * common) / (a.size + b.size);
}

function shown(file: readonly string[], wanted: readonly string[], at: number): string {
  const lines = file.slice(at, at + wanted.length);
  const cut = lines.length > maxShown ? `\n… ${lines.length - maxShown} more lines` : '';
  return `${numbered(lines.slice(0, maxShown), at + 1)}${cut}\n${difference(lines, wanted, at)}`;
}

function difference(lines: readonly string[], wanted: readonly string[], at: number): string {
  const first = wanted.findIndex((line, i) => line !== lines[i]);
  if (first === -1) return 'old_text differs only in the line feed at its end';
  const [have, want] = [lines[first], wanted[first] ?? ''];
  if (have === undefined) return `old_text goes on after the last line of the file: ${JSON.stringify(want)}`;
  const blanks = squeezed(have) === squeezed(want) ? ' (they differ in whitespace only)' : '';
  return `line ${at + first + 1} is ${JSON.stringify(have)}, old_text has ${JSON.stringify(want)}${blanks}`;
}
