// Edits of YAML text that keep what stands beside them: comments, order and quoting. Block style only.

/** Keys of mappings and indexes of lists, from the top of a document. */
export type Path = readonly (string | number)[];

/** Lines of a value, `to` excluded, and the indentation of its key. */
interface Place {
  readonly from: number;
  readonly to: number;
  readonly indent: number;
}

const indentOf = (line: string): number => line.length - line.trimStart().length;
const isContent = (line: string): boolean => line.trim() !== '' && !line.trimStart().startsWith('#');

/** Returns the end of a block that begins at `from`: before the next content that is not deeper. */
function endOf(lines: readonly string[], from: number, limit: number, indent: number): number {
  let end = from + 1;
  for (let at = from + 1; at < limit; at += 1) {
    const line = lines[at] ?? '';
    if (isContent(line) && indentOf(line) <= indent) break;
    if (isContent(line)) end = at + 1;
  }
  return end;
}

/** The entry of a mapping or of a list between two lines; undefined: it is not there in block style. */
function child(lines: readonly string[], { from, to }: Place, key: string | number): Place | undefined {
  const first = lines.findIndex((line, at) => at >= from && at < to && isContent(line));
  if (first < 0) return undefined;
  const indent = indentOf(lines[first] ?? '');
  let seen = -1;
  for (let at = first; at < to; at += 1) {
    const line = lines[at] ?? '';
    if (!isContent(line) || indentOf(line) !== indent) continue;
    if (typeof key === 'number' && /^-(\s|$)/.test(line.trimStart())) seen += 1;
    const found = typeof key === 'number' ? seen === key : new RegExp(`^${key}\\s*:(\\s|$)`).test(line.trimStart());
    if (found) return { from: at, to: endOf(lines, at, to, indent), indent };
  }
  return undefined;
}

/** The lines with the dash of one list entry as a blank, so that its first key stands like the others. */
function undashed(lines: readonly string[], { from }: Place): readonly string[] {
  return lines.map((line, at) => (at === from ? line.replace(/^(\s*)-/, '$1 ') : line));
}

/** Returns the place of a path; undefined: it is not there, or is written in flow style. */
export function placeOf(lines: readonly string[], path: Path): Place | undefined {
  let [view, place]: [readonly string[], Place] = [lines, { from: 0, to: lines.length, indent: -1 }];
  for (const [depth, key] of path.entries()) {
    const inner = depth === 0 || typeof path[depth - 1] === 'number' ? place : { ...place, from: place.from + 1 };
    const found = child(view, inner, key);
    if (found === undefined) return undefined;
    if (typeof key === 'number') view = undashed(view, found);
    place = found;
  }
  return place;
}

/** The comments among some lines, without their indentation. */
export function commentsOf(lines: readonly string[]): readonly string[] {
  return lines.map((line) => line.trim()).filter((line) => line.startsWith('#'));
}

/** The lines without a value, or with other lines instead; undefined: it is not in block style. */
export function replaced(lines: readonly string[], path: Path, by: readonly string[] = []): readonly string[] | undefined {
  const place = placeOf(lines, path);
  if (place === undefined || /^\s*-/.test(lines[place.from] ?? '')) return undefined;
  return [...lines.slice(0, place.from), ...by.map((line) => ' '.repeat(place.indent) + line), ...lines.slice(place.to)];
}

/** The lines with `{}` for a mapping that has nothing in it any more, as it would be null; others stay as they are. */
export function emptied(lines: readonly string[], path: Path): readonly string[] {
  const place = path.length === 0 ? undefined : placeOf(lines, path);
  if (place === undefined || lines.slice(place.from + 1, place.to).some(isContent)) return lines;
  const key = new RegExp(`^(\\s*(?:-\\s+)?${String(path.at(-1))}\\s*:)(?=\\s*(?:#.*)?$)`);
  return lines.map((line, at) => (at === place.from ? line.replace(key, '$1 {}') : line));
}

/** The lines with another key for a value; undefined: it is not in block style. */
export function renamed(lines: readonly string[], path: Path, key: string): readonly string[] | undefined {
  const place = placeOf(lines, path);
  if (place === undefined) return undefined;
  const old = new RegExp(`^(\\s*(?:-\\s+)?)${String(path.at(-1))}(?=\\s*:)`);
  return lines.map((line, at) => (at === place.from ? line.replace(old, `$1${key}`) : line));
}

/** The lines with one more key at the end of a mapping; undefined: the mapping is not in block style. */
export function added(lines: readonly string[], path: Path, line: string): readonly string[] | undefined {
  const place = placeOf(lines, path);
  if (place === undefined) return undefined;
  const first = lines.slice(place.from + 1, place.to).find(isContent);
  if (first === undefined) return undefined;
  return [...lines.slice(0, place.to), ' '.repeat(indentOf(first)) + line, ...lines.slice(place.to)];
}
