import { tapLine, type Directive, type TapLine } from './tapLine.ts';

/** A test point with the subtests that it closes. */
export interface TapPoint {
  readonly ok: boolean;
  readonly number: number | null;
  readonly name: string;
  readonly directive: Directive;
  /** From the YAML block of node:test: `suite` or `test`. */
  type: string | null;
  seconds: number | null;
  message: string | null;
  readonly children: readonly TapPoint[];
}

export interface TapDocument {
  readonly points: readonly TapPoint[];
  readonly plan: { readonly count: number; readonly reason: string | null } | null;
  readonly bail: string | null;
  /** Comments after the last point and plan of the top level. */
  readonly trailer: readonly string[];
  readonly faults: readonly string[];
  /** A line of the protocol was seen. */
  readonly any: boolean;
}

interface Level {
  points: TapPoint[];
  plan: { count: number; reason: string | null } | null;
}

const maxDepth = 64;

/**
 * Builds the tree of TAP 14: subtests are indented by four more spaces and end with their parent's
 * test point. Anything else in between is noise, as the specification asks.
 */
export function tapTree(lines: readonly string[]): TapDocument {
  const reader = new TapReader();
  for (let at = 0; at < lines.length && reader.bail === null; at += 1) {
    const parsed = tapLine(lines[at] ?? '');
    if (parsed.type === 'yaml') at = reader.yaml(lines, at, parsed.indent);
    else reader.take(parsed);
  }
  return reader.finish();
}

class TapReader {
  readonly #levels: Level[] = [{ points: [], plan: null }];
  readonly #faults = new Set<string>();
  #trailer: string[] = [];
  #last: { point: TapPoint; indent: number } | null = null;
  #any = false;
  bail: string | null = null;

  take(line: TapLine): void {
    if (line.type === 'version') this.#any = true;
    else if (line.type === 'bail') this.bail = line.reason;
    else if (line.type === 'comment' && line.indent === 0) this.#trailer.push(line.text);
    else if (line.type === 'point') this.#point(line);
    else if (line.type === 'plan') this.#plan(line);
  }

  /** Reads a YAML block, which only counts right after a point. Returns the index of its last line. */
  yaml(lines: readonly string[], start: number, indent: number): number {
    const last = this.#last;
    if (last === null || indent <= last.indent) return start;
    for (let at = start + 1; at < lines.length; at += 1) {
      const line = lines[at] ?? '';
      if (line.trim() === '...' && line.length - line.trimStart().length === indent) return at;
      // A block that is not closed ends where the next point could be.
      if (line !== '' && line.length - line.trimStart().length < indent) return at - 1;
      describe(last.point, line.slice(indent));
    }
    return lines.length;
  }

  finish(): TapDocument {
    const top = this.#levels[0] ?? { points: [], plan: null };
    if (this.#levels.slice(1).some(({ points }) => points.length > 0)) this.#faults.add('subtests without their parent');
    return { points: top.points, plan: top.plan, bail: this.bail, trailer: this.#trailer, faults: [...this.#faults], any: this.#any };
  }

  #point(line: Extract<TapLine, { type: 'point' }>): void {
    const depth = line.indent / 4;
    if (!Number.isInteger(depth) || depth > maxDepth) return;
    this.#any = true;
    const children = this.#close(depth);
    const { ok, number, name, directive } = line;
    const point = { ok, number, name, directive, type: null, seconds: null, message: null, children };
    this.#level(depth).points.push(point);
    this.#last = { point, indent: line.indent };
    if (depth === 0) this.#trailer = [];
  }

  #plan(line: Extract<TapLine, { type: 'plan' }>): void {
    const depth = line.indent / 4;
    if (!Number.isInteger(depth) || depth > maxDepth) return;
    this.#any = true;
    const level = this.#level(depth);
    if (level.plan !== null) this.#faults.add('more than one plan');
    level.plan ??= { count: line.count, reason: line.reason };
    if (depth === 0) this.#trailer = [];
    this.#last = null;
  }

  #level(depth: number): Level {
    while (this.#levels.length <= depth) this.#levels.push({ points: [], plan: null });
    return this.#levels[depth] ?? { points: [], plan: null };
  }

  /** Ends the levels below `depth`: what they hold belongs to the point that comes now. */
  #close(depth: number): readonly TapPoint[] {
    const [direct, ...deeper] = this.#levels.splice(depth + 1);
    if (deeper.some(({ points }) => points.length > 0)) this.#faults.add('subtests without their parent');
    if (direct === undefined) return [];
    if (direct.points.length > 0 && direct.plan === null) this.#faults.add('subtests without a plan');
    if (direct.plan !== null && direct.plan.count !== direct.points.length) {
      this.#faults.add(`a plan of ${direct.plan.count} subtests and ${direct.points.length} results`);
    }
    return direct.points;
  }
}

function describe(point: TapPoint, line: string): void {
  const pair = /^(type|duration_ms|error|message): +(\S.*)$/.exec(line);
  if (pair === null) return;
  const value = (pair[2] ?? '').replace(/^'(.*)'$/, '$1');
  if (pair[1] === 'type') point.type = value;
  else if (pair[1] === 'duration_ms') point.seconds = Number(value) / 1000;
  else point.message ??= value;
}
