// agent-image, checks/parse: output as lines, and the collector of test results. Imports no other folder of the worker.
import { createHash } from 'node:crypto';
import { noCounts, type Counts, type Outcome, type ParsedResults, type Problem, type ProblemCode, type TestResult } from './results.ts';

/**
 * Output as lines. Everything here takes linear time: the output is written by code under test.
 */

/** Characters that are read of each stream; a longer one is incomplete. */
export const maxCharacters = 48 << 20;

/** A longer line is noise: no runner prints one as a result. */
const maxLine = 8192;

// CSI, OSC and two-character escapes (ECMA-48); the classes do not overlap, so there is no backtracking.
// eslint-disable-next-line no-control-regex
const escapes = /\u001B(?:\[[0-?]*[ -/]*[@-~]|\][^\u0007\u001B]{0,4096}(?:\u0007|\u001B\\)|[@-Z\\^_])/g;

/** Lines of a stream without ANSI escapes and line ends, and whether the last one was ended. */
export interface Lines {
  readonly lines: readonly string[];
  /** The last line has its line end: it was not cut. */
  readonly ended: boolean;
  readonly cut: boolean;
}

/**
 * Splits at LF and CRLF. A bare CR (progress bars) starts the line again, as on a terminal.
 * Lines that are too long are kept as empty ones.
 */
export function linesOf(stream: string): Lines {
  const cut = stream.length > maxCharacters;
  const lines = stream.slice(0, maxCharacters).replace(escapes, '').split('\n');
  const ended = lines.at(-1) === '';
  if (ended) lines.pop();
  return { lines: lines.map(clean), ended: ended && !cut, cut };
}

function clean(line: string): string {
  if (line.length > maxLine) return '';
  const whole = line.endsWith('\r') ? line.slice(0, -1) : line;
  const restart = whole.lastIndexOf('\r');
  // Line ends to patterns alone: these would look for the end of a line in many places.
  return (restart === -1 ? whole : whole.slice(restart + 1)).replaceAll(/[\u2028\u2029]/g, ' ');
}

/** Cuts at `limit` characters, never inside a surrogate pair. */
function shorten(text: string, limit: number): string {
  if (text.length <= limit) return text;
  const end = text.charCodeAt(limit - 2);
  return `${text.slice(0, end >= 0xd8_00 && end <= 0xdb_ff ? limit - 2 : limit - 1)}…`;
}

/** The rest after the last of `words` that ends `text`, as [before, word]; null without one. */
export function splitLastWord<W extends string>(text: string, words: readonly W[]): readonly [string, W] | null {
  for (const word of words) {
    if (text === word) return ['', word];
    if (text.endsWith(` ${word}`)) return [text.slice(0, -word.length - 1), word];
  }
  return null;
}

/** More results than that are refused: no status or comparison could use them. */
export const maxTests = 200_000;
/** Characters of the names of all results, and of their messages: further messages are left out. */
const maxNamed = 24 << 20;
const maxProblems = 32;

export interface Found {
  readonly id: string;
  readonly outcome: Outcome;
  readonly kind?: TestResult['kind'];
  readonly message?: string;
  readonly seconds?: number;
}

/** Collects a parser's findings, within bounds, and makes ids distinct. */
export class Collector {
  readonly #found: Found[] = [];
  readonly #problems: Problem[] = [];
  complete = true;
  stopped = false;
  evidence: ParsedResults['evidence'] = 'Tests';
  source: ParsedResults['source'] = 'Output';
  unnamed: Counts = noCounts;
  files: ReadonlyMap<string, number> = new Map();
  #named = 0;
  #said = 0;

  get size(): number {
    return this.#found.length;
  }

  get found(): readonly Found[] {
    return this.#found;
  }

  add(found: Found): void {
    if (this.isFull()) return;
    const { message: said, ...rest } = found;
    const id = boundedId(found.id);
    const message = said === undefined || this.#said > maxNamed ? undefined : shorten(said, 2000);
    this.#named += id.length;
    this.#said += message?.length ?? 0;
    this.#found.push({ ...rest, id, ...(message !== undefined && { message }) });
  }

  /** Reports whether no further result is taken, and notes it. */
  isFull(): boolean {
    if (this.#found.length < maxTests && this.#named < maxNamed) return false;
    this.distrust('TooLarge', `more than ${maxTests} results, or very long names`, 'split the check');
    return true;
  }

  note(code: ProblemCode, message: string, cure: string): void {
    this.#problem({ code, severity: 'Note', message, cure });
  }

  distrust(code: ProblemCode, message: string, cure: string): void {
    this.#problem({ code, severity: 'Distrust', message, cure });
  }

  incomplete(message: string, cure: string): void {
    this.complete = false;
    this.distrust('Incomplete', message, cure);
  }

  finish(format: ParsedResults['format']): ParsedResults {
    const { tests, repeated } = distinct(this.#found);
    if (repeated > 0) this.note('DuplicateId', `${repeated} results share an id with another one`, 'give tests distinct names');
    const { source, evidence, unnamed, files, complete, stopped } = this;
    return { format, source, evidence, tests, unnamed, ...(files.size > 0 && { files }), complete, stopped, problems: this.#problems };
  }

  #problem(problem: Problem): void {
    const known = this.#problems.some(({ code, message }) => code === problem.code && message === problem.message);
    if (!known && this.#problems.length < maxProblems) this.#problems.push(problem);
  }
}

const order: Readonly<Record<Outcome, number>> = { Errored: 0, Failed: 0, Skipped: 1, Passed: 2 };

/**
 * Numbers results that share an id, failing ones first: then the same set of outcomes gives the same
 * list whatever order the tests ran in.
 */
function distinct(found: readonly Found[]): { readonly tests: TestResult[]; readonly repeated: number } {
  const groups = Map.groupBy(found, ({ id }) => boundedId(id));
  const taken = new Set(groups.keys());
  const tests: TestResult[] = [];
  let repeated = 0;
  for (const [id, group] of groups) {
    let number = 1;
    for (const one of group.sort((a, b) => order[a.outcome] - order[b.outcome])) {
      let name = id;
      if (tests.length > 0 && number > 1) repeated += 1;
      while (number > 1 && taken.has((name = `${id} (${number})`))) number += 1;
      taken.add(name);
      number += 1;
      tests.push(testOf(name, one));
    }
  }
  return { tests, repeated };
}

function testOf(id: string, { outcome, kind, message, seconds }: Found): TestResult {
  return {
    id,
    outcome,
    kind: kind ?? 'Test',
    ...(message !== undefined && message !== '' && { message: shorten(message, 2000) }),
    ...(seconds !== undefined && Number.isFinite(seconds) && seconds >= 0 && { seconds }),
  };
}

function boundedId(id: string): string {
  const trimmed = id.trim();
  return trimmed === '' ? '(no name)' : boundedName(trimmed);
}

/** Long names stay distinct: their end is replaced by a digest. */
export function boundedName(name: string): string {
  if (name.length <= 1024) return name;
  return `${shorten(name, 1000)}#${createHash('sha256').update(name).digest('hex').slice(0, 20)}`;
}

/** The name of what lies within something: as long as both together only where that is short, for there may be very many. */
export const nameWithin = (above: string, name: string): string => boundedName(above === '' ? name : `${above} > ${name}`);
