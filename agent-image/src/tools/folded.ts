import { plain } from './tool.ts';

/** Lines at the end of an output that are looked at, and most lines of one block. */
const maxLines = 600;
const maxBlock = 40;
/** Fewest blocks that are folded, and most names of those that are left out. */
const leastBlocks = 3;
const maxNames = 20;

const word = /\/?\w[\w./@:\\+-]*/g;
const wordsOf = (line: string): readonly string[] => line.match(word) ?? [];
const untimed = (line: string): string => line.replaceAll(/\(?\b\d+(?:\.\d+)?\s?m?s\b\)?/g, '').trimEnd();
/** A line without its names, numbers and times. */
const shapeOf = (line: string): string => untimed(line).replaceAll(word, 'w');
const masked = (text: string): string => text.replaceAll(/\d+/g, '#');

/**
 * An output in which blocks of lines that differ in one name and in numbers stand once, with the names of the others. Pure.
 *
 * @example
 * folded(output); // 'FAIL a.test.js\nError: no module x\n[the same in 23 more: b.test.js, c.test.js, …]'
 */
export function folded(output: string): string {
  const all = output.split('\n');
  const lines = all.slice(-maxLines);
  const shapes = lines.map(shapeOf);
  const out = all.slice(0, -maxLines);
  for (let at = 0; at < lines.length;) {
    const found = blocksAt(lines, shapes, at);
    if (found === null) {
      out.push(lines[at] ?? '');
      at += 1;
      continue;
    }
    const { names, text, between, lines: count } = found;
    const more = names.length > maxNames ? `, … (${names.length - maxNames} more)` : '';
    out.push(...text, `[the same in ${names.length} more: ${names.slice(0, maxNames).map(plain).join(', ')}${more}]`, ...between);
    at += count;
  }
  return out.join('\n');
}

/** The shortest block that begins here and comes again, what stands between two, the names by which the others differ, and the lines of all. */
function blocksAt(lines: readonly string[], shapes: readonly string[], at: number) {
  // A list has a line for each of its things, whose numbers count.
  if (shapes[at] === shapes[at + 1]) return null;
  for (let length = 2; length <= maxBlock && at + (leastBlocks - 1) * length < lines.length; length += 1) {
    if (shapes[at] !== shapes[at + length]) continue;
    const first = lines.slice(at, at + length);
    const text = first.slice(0, first.findLastIndex((line) => /\w/.test(line)) + 1);
    const names: string[] = [];
    let next = at + length;
    // After the last one there may be something else than between the others.
    for (let whole = true; whole; next += length) {
      const name = nameOf(text, lines.slice(next, next + text.length));
      if (name === null) break;
      names.push(name);
      whole = first.every((line, n) => n < text.length || line === lines[next + n]);
      if (!whole) next += text.length - length;
    }
    if (names.length + 1 >= leastBlocks && text.filter((line) => line.trim() !== '').length > 1)
      return { text, names, between: first.slice(text.length), lines: next - at };
  }
  return null;
}

/** The name by which another block differs from the first one, in its first line; null: it differs in more, or in none. */
function nameOf(first: readonly string[], other: readonly string[]): string | null {
  const [mine, its] = [wordsOf(first[0] ?? ''), wordsOf(other[0] ?? '')];
  const at = mine.findIndex((one, n) => one !== its[n] && /[A-Za-z]/.test(one));
  const [name, otherName] = [mine[at], its[at]];
  if (name === undefined || otherName === undefined) return null;
  const parts = partsOf(name, otherName);
  return first.every((line, n) => isSame(untimed(line), untimed(other[n] ?? ''), parts)) ? otherName.replace(/\W{1,8}$/, '') : null;
}

/** The part by which two paths of one depth differ, without its ending: it may stand in other paths and in names of modules. */
function partsOf(name: string, other: string): readonly [string, string] {
  const [mine, its] = [name.split('/'), other.split('/')];
  const at = mine.findIndex((one, n) => one !== its[n]);
  const [part = '', otherPart = ''] = [mine[at], its[at]];
  const plainPart = (text: string): string => text.replace(/(?<=.)\..*$/, '');
  return mine.length === its.length ? [plainPart(part), plainPart(otherPart)] : [name, other];
}

const atom = /(\w+(?:-\w+)*)/;

/** Reports whether two lines differ in these names and in numbers alone. */
function isSame(line: string, other: string, [name, otherName]: readonly [string, string]): boolean {
  if (!/^[\w-]+$/.test(name)) return masked(line.replaceAll(name, '\0')) === masked(other.replaceAll(otherName, '\0'));
  const [mine, its] = [line.split(atom), other.split(atom)];
  return (
    mine.length === its.length && mine.every((one, n) => masked(one) === masked(its[n] ?? '') || (one === name && its[n] === otherName))
  );
}
