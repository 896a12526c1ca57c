// agent-image, checks/parse: parser for TAP, the Test Anything Protocol. Imports no other folder of the worker.
import type { CommandOutput, Outcome, ParsedResults } from './results.ts';
import { Collector, linesOf, nameWithin } from './collector.ts';

/** One line of TAP, distinguished by its first characters. Indentation is in spaces. */
type TapLine =
  | {
      readonly type: 'point';
      readonly indent: number;
      readonly ok: boolean;
      readonly number: number | null;
      readonly name: string;
      readonly directive: Directive;
      readonly seconds: number | null;
      /** Its subtests follow in braces. */
      readonly opens: boolean;
    }
  | { readonly type: 'open' | 'close'; readonly indent: number }
  | { readonly type: 'plan'; readonly indent: number; readonly count: number }
  | { readonly type: 'bail'; readonly reason: string }
  | { readonly type: 'yaml'; readonly indent: number }
  | { readonly type: 'version' }
  | { readonly type: 'comment'; readonly indent: number; readonly text: string }
  | { readonly type: 'other' };

type Directive = 'Skip' | 'Todo' | null;
type PointLine = Extract<TapLine, { type: 'point' }>;

/**
 * Reads a line by the grammar of TAP 14 (testanything.org/tap-version-14-specification), which TAP 13
 * is a subset of: `ok` and `not ok`, optional number, optional ` - `, escapes `\\` and `\#`. node-tap and vitest add the time
 * of a point and, in braces, its subtests after it.
 */
function tapLine(line: string, next: string | undefined): TapLine {
  const text = line.trimStart();
  const indent = line.length - text.length;
  if (text.startsWith('#')) return { type: 'comment', indent, text: text.slice(1).trim() };
  if (text.startsWith('Bail out!')) return { type: 'bail', reason: text.slice(9).trim() };
  if (/^---\s*$/.test(text)) return { type: 'yaml', indent };
  const begins =
    next?.startsWith(' '.repeat(indent + 4)) === true && /^(?:(?:not )?ok\b|1\.\.\d|#|TAP version )/.test(next.slice(indent + 4));
  if (/^\{\s*$/.test(text) && begins) return { type: 'open', indent };
  if (/^\}\s*$/.test(text)) return { type: 'close', indent };
  if (/^TAP version \d+\s*$/.test(text)) return { type: 'version' };
  const plan = /^1\.\.(\d{1,9})(?:\s+#\s?\S.*)?\s*$/.exec(text)?.[1] ?? /^1\.\.(0)\b/.exec(text)?.[1];
  if (plan !== undefined) return { type: 'plan', indent, count: Number(plan) };
  const point = /^(not )?ok\b(?: +(\d{1,9})\b)?(.*)$/.exec(text);
  if (point === null || (point[3] !== '' && !/^[\s:#-]/.test(point[3] ?? ''))) return { type: 'other' };
  const [ok, number] = [point[1] === undefined, point[2] === undefined ? null : Number(point[2])];
  const rest = (point[3] ?? '').trimEnd();
  const opens = begins && rest.endsWith(' {');
  return { type: 'point', indent, ok, number, opens, ...description(opens ? rest.slice(0, -1).trimEnd() : rest) };
}

/** Splits at the first unescaped `#` that starts a directive, and takes the escapes and the time out. */
function description(text: string): Pick<PointLine, 'name' | 'directive' | 'seconds'> {
  const hasDash = /^\s*- /.test(text);
  // `ok 1 NAME in 5ms` is of bats.
  const time = /\s# time=(\d+(?:\.\d+)?)(ms|s)(?=$|\s+#)/.exec(text) ?? (hasDash ? null : /\sin (\d{1,9})(ms)(?=$|\s+#)/.exec(text));
  const seconds = time === null ? null : Number(time[1]) / (time[2] === 'ms' ? 1000 : 1);
  const [from, to] = time === null ? [text.length, text.length] : [time.index, time.index + time[0].length];
  const body = `${text.slice(0, from)}${text.slice(to)}`.trim().replace(/^- ?/, '');
  let name = '';
  for (let at = 0; at < body.length; at += 1) {
    const char = body[at];
    const next = body[at + 1];
    if (char === '\\' && (next === '#' || next === '\\')) {
      name += next;
      at += 1;
    } else if (char === '#') {
      const directive = directiveOf(body.slice(at + 1));
      // `ok 1 - # SKIP NAME` is of busted.
      const rest = hasDash && name === '' ? body.slice(at + 1).replace(/^\s*\w+/, '') : name;
      if (directive !== null) return { name: rest.trim(), directive, seconds };
      name += char;
    } else name += char;
  }
  return { name: name.trim(), directive: null, seconds };
}

function directiveOf(text: string): Directive {
  const word = /^\s*(skip\w*|todo)\b/i.exec(text)?.[1]?.toLowerCase();
  if (word === undefined) return null;
  return word === 'todo' ? 'Todo' : 'Skip';
}

/** A test point with the subtests that it closes. */
interface TapPoint extends Pick<PointLine, 'ok' | 'number' | 'name' | 'directive'> {
  /** `suite` or `test`, from the YAML block of node:test. */
  type: string | null;
  seconds: number | null;
  message: string | null;
  readonly children: TapPoint[];
}

type TapDocument = ReturnType<TapReader['finish']>;

interface Level {
  readonly points: TapPoint[];
  /** Number of tests that the plan announces. */
  plan: number | null;
}

const maxDepth = 64;

/**
 * Builds the tree of TAP 14: subtests are indented by four more spaces and end with their parent's test point, or with a brace
 * that this point opened. Anything else in between is noise, according to the specification.
 */
export function tapTree(lines: readonly string[]): TapDocument {
  const reader = new TapReader();
  for (let at = 0; at < lines.length && reader.bail === null; at += 1) {
    const parsed = tapLine(lines[at] ?? '', lines[at + 1]);
    if (parsed.type === 'yaml') at = reader.yaml(lines, at, parsed.indent);
    else reader.take(parsed);
  }
  return reader.finish();
}

class TapReader {
  readonly #levels: Level[] = [{ points: [], plan: null }];
  /** Documents that are complete, where another follows. */
  readonly #before: { readonly points: readonly TapPoint[]; readonly plan: number }[] = [];
  readonly #faults = new Set<string>();
  readonly #braces: { readonly point: TapPoint; readonly depth: number }[] = [];
  /** Comments after the last point and plan of the top level. */
  #trailer: string[] = [];
  #last: { point: TapPoint; indent: number } | null = null;
  /** The point whose message is of comments. */
  #explained: TapPoint | null = null;
  /** A line of the protocol was seen. */
  #any = false;
  bail: string | null = null;

  take(line: TapLine): void {
    if (line.type === 'version') this.#any = true;
    else if (line.type === 'bail') this.bail = line.reason;
    else if (line.type === 'comment' && line.indent === 0) this.#comment(line.text);
    else if (line.type === 'point') this.#point(line);
    else if (line.type === 'plan') this.#plan(line);
    else if (line.type === 'open' && this.#last?.indent === line.indent) this.#open(this.#last.point, line.indent / 4);
    else if (line.type === 'close') this.#end(line.indent / 4);
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

  finish() {
    const top = this.#levels[0] ?? { points: [], plan: null };
    if (this.#levels.slice(1).some(({ points }) => points.length > 0)) this.#faults.add('subtests without their parent');
    if (this.#braces.length > 0) this.#faults.add('subtests without their end');
    const documents = [...this.#before, top];
    const plan = top.plan === null ? null : documents.reduce((sum, one) => sum + (one.plan ?? 0), 0);
    const runs = documents.map(({ points }) => points);
    return { points: runs.flat(), runs, plan, bail: this.bail, trailer: this.#trailer, faults: [...this.#faults], any: this.#any };
  }

  /** Takes what bats writes below a point that failed for the reason. */
  #comment(text: string): void {
    this.#trailer.push(text);
    const point = this.#last?.indent === 0 ? this.#last.point : null;
    if (point === null || point.ok || text.startsWith('Subtest: ')) return;
    if (point.message === null) this.#explained = point;
    if (this.#explained === point) point.message = `${point.message === null ? '' : `${point.message}\n`}${text}`.slice(0, 2000);
  }

  #point(line: PointLine): void {
    const depth = line.indent / 4;
    if (!Number.isInteger(depth) || depth > maxDepth) return;
    this.#any = true;
    if (depth <= (this.#braces.at(-1)?.depth ?? -1)) this.#faults.add('a result among the subtests of another');
    const children = [...this.#close(depth)];
    const { ok, number, name, directive, seconds } = line;
    const point = { ok, number, name, directive, type: null, seconds, message: null, children };
    this.#level(depth).points.push(point);
    this.#last = { point, indent: line.indent };
    if (line.opens) this.#open(point, depth);
    if (depth === 0) this.#trailer = [];
  }

  #plan(line: Extract<TapLine, { type: 'plan' }>): void {
    const depth = line.indent / 4;
    if (!Number.isInteger(depth) || depth > maxDepth) return;
    this.#any = true;
    if (depth === 0) this.#next();
    const level = this.#level(depth);
    if (level.plan !== null) this.#faults.add('more than one plan');
    level.plan ??= line.count;
    if (depth === 0) this.#trailer = [];
    this.#last = null;
  }

  /** A command may run several programs of tests: where a plan is kept, the next one begins another document. */
  #next(): void {
    const top = this.#levels[0];
    if (this.#levels.length !== 1 || top === undefined || top.plan === null || top.points.length !== top.plan) return;
    this.#before.push({ points: top.points, plan: top.plan });
    this.#levels[0] = { points: [], plan: null };
  }

  #open(point: TapPoint, depth: number): void {
    if (this.#braces.length < maxDepth) this.#braces.push({ point, depth });
  }

  /** Ends the subtests of the point that opened them; other braces are noise. */
  #end(depth: number): void {
    const last = this.#braces.at(-1);
    if (last?.depth !== depth) return;
    this.#braces.pop();
    for (const point of this.#close(depth)) last.point.children.push(point);
    this.#last = null;
  }

  #level(depth: number): Level {
    while (this.#levels.length <= depth) this.#levels.push({ points: [], plan: null });
    return this.#levels[depth] ?? { points: [], plan: null };
  }

  /** Ends the levels below `depth`: their points belong to the point that follows. */
  #close(depth: number): readonly TapPoint[] {
    const [direct, ...deeper] = this.#levels.splice(depth + 1);
    if (deeper.some(({ points }) => points.length > 0)) this.#faults.add('subtests without their parent');
    if (direct === undefined) return [];
    if (direct.points.length > 0 && direct.plan === null) this.#faults.add('subtests without a plan');
    if (direct.plan !== null && direct.plan !== direct.points.length)
      this.#faults.add(`a plan of ${direct.plan} subtests and ${direct.points.length} results`);
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

const cure = 'let nothing but the test runner write TAP to standard output';

/** TAP 13 and 14 from standard output: plan, subtests, SKIP, TODO, bail out. */
export function parseTap({ stdout }: CommandOutput): ParsedResults {
  const collector = new Collector();
  const { lines, ended } = linesOf(stdout);
  const document = tapTree(lines);
  addPoints(collector, document.points);
  checkDocument(collector, document, ended);
  for (const points of document.runs) checkNumbers(collector, points);
  return collector.finish('TAP');
}

/** Checks for every producer: one plan that is kept, no loose subtests, no bail out, no cut line. */
export function checkDocument(collector: Collector, { points, plan, bail, faults, any }: TapDocument, ended: boolean): void {
  for (const fault of faults) collector.distrust('CountsDisagree', fault, cure);
  if (bail !== null) {
    collector.complete = false;
    collector.add({ id: 'Bail out!', outcome: 'Errored', kind: 'Container', message: bail });
    return collector.distrust('BailedOut', `the run bailed out: ${bail}`, 'read the output of the check');
  }
  if (!any) return collector.incomplete('no TAP in the output', 'choose the format that the command writes');
  if (plan === null) return collector.incomplete('TAP without a plan', cure);
  const story = `a plan of ${plan} tests and ${points.length} results`;
  if (points.length < plan) collector.incomplete(story, cure);
  else if (points.length > plan) collector.distrust('CountsDisagree', story, cure);
  else if (!ended) collector.incomplete('the last line has no line end', cure);
}

export function addPoints(collector: Collector, points: readonly TapPoint[], above = ''): void {
  points.forEach((point, at) => {
    if (collector.isFull()) return;
    const name = point.name === '' ? `test ${at + 1}` : point.name;
    const id = nameWithin(above, name);
    addPoints(collector, point.children, id);
    collector.add({
      id,
      outcome: outcomeOf(point),
      kind: point.children.length > 0 || point.type === 'suite' ? 'Group' : 'Test',
      ...(point.message !== null && { message: point.message }),
      ...(point.seconds !== null && { seconds: point.seconds }),
    });
  });
}

/** A failing TODO is no failure (TAP 14, "TODO tests"), and no proof either: it counts as skipped. */
function outcomeOf({ ok, directive }: TapPoint): Outcome {
  if (directive === 'Skip' || (directive === 'Todo' && !ok)) return 'Skipped';
  return ok ? 'Passed' : 'Failed';
}

/** Printed lines that look like points repeat numbers; runners count from 1 (TAP 14, "Test Point ID"). */
function checkNumbers(collector: Collector, points: readonly TapPoint[]): void {
  const seen = new Set<number>();
  for (const { number } of points) {
    if (number === null) continue;
    if (seen.has(number)) collector.distrust('CountsDisagree', `test number ${number} comes twice`, cure);
    if (number < 1 || number > points.length)
      collector.distrust('CountsDisagree', `test number ${number} is outside 1..${points.length}`, cure);
    seen.add(number);
  }
}
