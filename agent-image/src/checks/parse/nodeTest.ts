// agent-image, checks/parse: parser for the output of node:test. Imports no other folder of the worker.
import { type Outcome, failing, type CommandOutput, type ParsedResults } from './results.ts';
import { Collector, linesOf, nameWithin } from './collector.ts';
import { crossCheck } from './agreement.ts';
import { looksLikeJUnit, parseJUnit } from './junit.ts';
import { addPoints, checkDocument, tapTree } from './tap.ts';

const fields = ['tests', 'suites', 'pass', 'fail', 'cancelled', 'skipped', 'todo'] as const;

/** The summary of node:test; a todo counts neither as pass nor as fail. */
type NodeTally = Readonly<Record<(typeof fields)[number], number>>;

/** Reads `tests 3`, `suites 0`, … from the start of the lines; null when one is missing. */
function tallyOf(lines: readonly string[]): NodeTally | null {
  const start = lines.findIndex((line) => /^tests \d+$/.test(line));
  if (start === -1) return null;
  const counts = fields.map((field, at) => new RegExp(`^${field} (\\d{1,9})$`).exec(lines[start + at] ?? '')?.[1]);
  return counts.includes(undefined) ? null : (Object.fromEntries(fields.map((field, at) => [field, Number(counts[at])])) as NodeTally);
}

interface Open {
  readonly name: string;
  /** With the groups around it. */
  readonly path: string;
  readonly indent: number;
  children: number;
  failed: boolean;
}

interface Reading {
  readonly collector: Collector;
  readonly open: Open[];
}

const marks: Readonly<Record<string, Outcome>> = { '✔': 'Passed', '✖': 'Failed', '﹣': 'Skipped', '⚠': 'Skipped' };

/**
 * The spec reporter: `▶ group`, its results indented by two more, `✔ group (1.2ms)`; `ℹ` lines are the
 * summary. After it the failures are reported again, which counts for nothing.
 */
function nodeSpec(collector: Collector, lines: readonly string[]): readonly NodeTally[] {
  const tallies: NodeTally[] = [];
  const reading: Reading = { collector, open: [] };
  let summary: string[] = [];
  for (const [at, line] of lines.entries()) {
    if (line.startsWith('ℹ ')) {
      summary.push(line.slice(2));
      const tally = line.startsWith('ℹ duration_ms ') ? tallyOf(summary) : null;
      if (tally !== null) {
        tallies.push(tally);
        summary = [];
      }
    } else if (tallies.length === 0) takeLine(reading, groupIn(line, lines[at + 1] ?? ''));
  }
  return tallies;
}

/** Finds a group in the middle of a line, where a program left its last line open; the group's first result shows its depth. */
function groupIn(line: string, next: string): string {
  const at = line.lastIndexOf('▶ ');
  const depth = /^ {2,128}(?=[▶✔✖﹣⚠] )/.exec(next)?.[0].length;
  if (at <= 0 || depth === undefined || /^ *(?:[▶✔✖﹣⚠] |$)/.test(line)) return line;
  return `${' '.repeat(depth - 2)}${line.slice(at)}`;
}

function takeLine(reading: Reading, line: string): void {
  const text = line.trimStart();
  const indent = line.length - text.length;
  const mark = text[0] ?? '';
  if (text[1] !== ' ' || indent % 2 !== 0 || indent > 128) return;
  const { name, seconds, directive } = parts(text.slice(2));
  if (mark === '▶') return takeGroup(reading, name, indent, seconds);
  const outcome = marks[mark];
  if (outcome === undefined || seconds === null) return;
  push(reading, { name, outcome, seconds, message: directive ?? '', group: closing(reading, name, indent) });
}

/** Opens a group; before Node 22 its end had the same sign, and no separate outcome. */
function takeGroup(reading: Reading, name: string, indent: number, seconds: number | null): void {
  const group = seconds === null ? null : closing(reading, name, indent);
  if (group !== null)
    return push(reading, { name, outcome: group.failed ? 'Failed' : 'Passed', seconds: seconds ?? 0, message: '', group });
  leave(reading, indent);
  reading.open.push({ name, path: nameWithin(reading.open.at(-1)?.path ?? '', name), indent, children: 0, failed: false });
}

function closing(reading: Reading, name: string, indent: number): Open | null {
  leave(reading, indent + 1);
  const top = reading.open.at(-1);
  if (top === undefined || top.indent !== indent) return null;
  reading.open.pop();
  return top.name === name ? top : null;
}

/** Forgets groups that are at least as deep: they were never closed. */
function leave(reading: Reading, indent: number): void {
  while ((reading.open.at(-1)?.indent ?? -1) >= indent) reading.open.pop();
}

interface Point {
  readonly outcome: Outcome;
  readonly seconds: number;
  readonly message: string;
  readonly name: string;
  readonly group: Open | null;
}

function push({ collector, open }: Reading, { name, outcome, seconds, message, group }: Point): void {
  const parent = open.at(-1);
  if (parent !== undefined) {
    parent.children += 1;
    parent.failed ||= outcome === 'Failed';
  }
  if (collector.isFull()) return;
  const id = nameWithin(parent?.path ?? '', name);
  collector.add({ id, outcome, seconds, message, kind: group !== null && group.children > 0 ? 'Group' : 'Test' });
}

/** `name (1.5ms) # SKIP`: the last duration counts, names may hold brackets. */
function parts(text: string): { readonly name: string; readonly seconds: number | null; readonly directive: string | null } {
  const end = text.lastIndexOf('ms)');
  const start = end === -1 ? -1 : text.lastIndexOf(' (', end);
  const digits = start === -1 ? '' : text.slice(start + 2, end);
  const after = end === -1 ? '' : text.slice(end + 3);
  if (!/^\d+(?:\.\d+)?(?:e-\d+)?$/.test(digits) || (after !== '' && !after.startsWith(' # ')))
    return { name: text, seconds: null, directive: null };
  return { name: text.slice(0, start), seconds: Number(digits) / 1000, directive: after === '' ? null : after.slice(3) };
}

const cure = 'use --test-reporter=tap or junit, and let nothing else print results';

/** node:test: a JUnit file where there is one, else the reporter's output: junit, tap or spec. */
export function parseNodeTest(output: CommandOutput): ParsedResults {
  const hasFiles = (output.files ?? []).length > 0;
  if (hasFiles || looksLikeJUnit(output.stdout)) {
    const file = parseJUnit(output);
    const printed = hasFiles ? crossCheck(file, parsePrinted(output.stdout)) : [];
    return { ...file, format: 'NodeTest', problems: [...file.problems, ...printed] };
  }
  return parsePrinted(output.stdout);
}

function parsePrinted(stdout: string): ParsedResults {
  const { lines, ended } = linesOf(stdout);
  return lines.some((line) => /^TAP version 1[34]$/.test(line)) ? parseTapReport(lines, ended) : parseSpec(lines, ended);
}

/** The tap reporter turns printed output of tests into comments; only those after the plan are its summary. */
function parseTapReport(lines: readonly string[], ended: boolean): ParsedResults {
  const collector = new Collector();
  const document = tapTree(lines);
  addPoints(collector, document.points);
  checkDocument(collector, document, ended);
  return finish(collector, tallyOf(document.trailer));
}

function parseSpec(lines: readonly string[], ended: boolean): ParsedResults {
  const collector = new Collector();
  const tallies = nodeSpec(collector, ended ? lines : lines.slice(0, -1));
  const finished = finish(collector, tallies.at(-1) ?? null);
  if (tallies.length > 1) collector.distrust('TwoSummaries', `${tallies.length} summaries of node:test`, cure);
  return finished;
}

/** Points are tests and suites; the reporter does not distinguish a suite from a test with subtests. */
function checkTally(collector: Collector, tally: NodeTally): void {
  const { found } = collector;
  const bad = found.filter(({ outcome }) => failing(outcome));
  const leaves = bad.filter(({ kind }) => kind !== 'Group').length;
  const expected = tally.fail + tally.cancelled;
  if (found.length !== tally.tests + tally.suites) {
    collector.distrust('CountsDisagree', `${found.length} results and a summary of ${tally.tests} tests in ${tally.suites} suites`, cure);
  } else if (leaves > expected || bad.length < expected) {
    collector.distrust('CountsDisagree', `${bad.length} failing results and a summary of ${expected}`, cure);
  }
}

/** A file that cannot be loaded is reported under its path. */
function finish(collector: Collector, tally: NodeTally | null): ParsedResults {
  if (tally === null) collector.incomplete('the summary of node:test is missing', cure);
  else checkTally(collector, tally);
  const results = collector.finish('NodeTest');
  const tests = results.tests.map((test) =>
    test.outcome === 'Failed' && /\.[cm]?[jt]sx?$/.test(test.id) && !test.id.includes(' > ')
      ? { ...test, outcome: 'Errored' as const, kind: 'Container' as const }
      : test,
  );
  return { ...results, tests };
}
