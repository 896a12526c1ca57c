// agent-image, tools: closest text where an edit does not match. May import attempt, checks, egress, protocol; never loop or models.
import { linesOf, numbered } from './tool.ts';

/** Places that a message shows, lines of one of them, and lines of a file that are searched. */
const maxPlaces = 2;
const maxShown = 12;
const maxLooked = 50_000;
/** Lines of the file times wanted lines that are compared where none is the same, and the wanted lines that always are. */
const maxCompared = 500_000;
const fewCompared = 12;

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
  const bare = old.replaceAll(/^(?:[> ]{0,2} *|\S{1,200}:)\d+(?: \| ?|\t|: )/gm, '');
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
  const targets = wanted.map(squeezed);
  const same = Map.groupBy(targets.keys(), (i) => targets[i] ?? '');
  same.delete('');
  const bare = file.map(squeezed);
  const isAnchored = bare.some((line) => same.has(line));
  const compared = isAnchored && size > 3 ? 0 : Math.min(size, Math.max(fewCompared, Math.floor(maxCompared / file.length)));
  const likeness = likenessTo(targets.slice(0, compared));
  const scores = new Float64Array(file.length - size + 1);
  const add = (at: number, score: number): void => {
    if (at >= 0 && at < scores.length) scores[at] = (scores[at] ?? 0) + score;
  };
  for (const [n, line] of bare.entries()) {
    for (const i of same.get(line) ?? []) if (i < size) add(n - i, 1);
    if (compared > 0) likeness(line, (i, share) => targets[i] !== line && add(n - i, 0.9 * share));
  }
  const found = Array.from(scores, (score, at) => ({ at, score })).filter(({ score }) => score > 0.4);
  const best = found.toSorted((a, b) => b.score - a.score || a.at - b.at);
  return best
    .filter(({ score }) => score >= 0.9 * (best[0]?.score ?? 0))
    .slice(0, maxPlaces)
    .map(({ at }) => at);
}

const squeezed = (line: string): string => line.replaceAll(/\s+/g, ' ').trim();

/** Pairs of neighbouring characters in a squeezed line. */
function pairsOf(line: string): ReadonlySet<number> {
  const pairs = new Set<number>();
  for (let at = 1; at < Math.min(400, line.length); at += 1) pairs.add(line.charCodeAt(at - 1) * 65_536 + line.charCodeAt(at));
  return pairs;
}

/**
 * Returns a function that visits the targets that a line has pairs in common with: their share, from 0 to 1. Pairs are looked
 * up among those of the targets, so that the pairs of a line are made once.
 */
function likenessTo(targets: readonly string[]): (line: string, visit: (i: number, share: number) => void) => void {
  const pairs = targets.map(pairsOf);
  const holders = new Map<number, number[]>();
  for (const [i, own] of pairs.entries())
    for (const pair of own) {
      const held = holders.get(pair);
      if (held === undefined) holders.set(pair, [i]);
      else held.push(i);
    }
  const common = new Uint32Array(targets.length);
  return (line, visit) => {
    const own = pairsOf(line);
    common.fill(0);
    for (const pair of own) for (const i of holders.get(pair) ?? []) common[i] = (common[i] ?? 0) + 1;
    for (const [i, { size }] of pairs.entries()) if (common[i]) visit(i, (2 * common[i]) / (size + own.size));
  };
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
