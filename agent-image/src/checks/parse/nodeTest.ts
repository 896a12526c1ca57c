import { failing, type CommandOutput, type ParsedResults } from '../results.ts';
import { crossCheck } from './agreement.ts';
import { Collector } from './collector.ts';
import { looksLikeJUnit, parseJUnit } from './junit.ts';
import { nodeSpec, tallyOf, type NodeTally } from './nodeSpec.ts';
import { addPoints, checkDocument } from './tap.ts';
import { tapTree } from './tapTree.ts';
import { linesOf } from './text.ts';

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

/** The tap reporter turns what tests print into comments; only those after the plan are its summary. */
function parseTapReport(lines: readonly string[], ended: boolean): ParsedResults {
  const collector = new Collector();
  const document = tapTree(lines);
  addPoints(collector, document.points, []);
  checkDocument(collector, document, ended);
  const tally = tallyOf(document.trailer);
  if (tally === null) collector.incomplete('the summary of node:test is missing', cure);
  else checkTally(collector, tally);
  return finish(collector);
}

function parseSpec(lines: readonly string[], ended: boolean): ParsedResults {
  const collector = new Collector();
  const { found, tallies } = nodeSpec(ended ? lines : lines.slice(0, -1));
  for (const one of found) collector.add(one);
  const tally = tallies.at(-1);
  if (tally === undefined) collector.incomplete('the summary of node:test is missing', cure);
  else checkTally(collector, tally);
  if (tallies.length > 1) collector.distrust('TwoSummaries', `${tallies.length} summaries of node:test`, cure);
  return finish(collector);
}

/** Points are tests and suites; the reporter does not tell a suite from a test with subtests. */
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
function finish(collector: Collector): ParsedResults {
  const results = collector.finish('NodeTest');
  const tests = results.tests.map((test) =>
    test.outcome === 'Failed' && /\.[cm]?[jt]sx?$/.test(test.id) && !test.id.includes(' > ')
      ? { ...test, outcome: 'Errored' as const, kind: 'Container' as const }
      : test,
  );
  return { ...results, tests };
}
