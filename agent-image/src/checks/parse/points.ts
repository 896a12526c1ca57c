// agent-image, checks/parse: parser for runners with a line for each test and a sum at the end. Imports no other folder of the worker.
import type { CommandOutput, Outcome, ParsedResults, PointFormat } from './results.ts';
import { Collector, linesOf } from './collector.ts';

interface Runner {
  /** Line of a test: its name and its outcome. */
  readonly point: RegExp;
  readonly outcomes: Readonly<Record<Exclude<Outcome, 'Errored'>, RegExp>>;
  /** Line that ends what a failing test printed, where that stands below its outcome. */
  readonly ends?: RegExp;
  /** Line that begins it, where it stands above. */
  readonly starts?: RegExp;
  /** Line of a sum: tests that failed, and all of them or those of one kind. */
  readonly sum: RegExp;
  /** First line of a sum. A test could print one. */
  readonly begin: RegExp;
  /** Line before the points of a run, where there is one. */
  readonly run?: RegExp;
}

const runners: Readonly<Record<PointFormat, Runner>> = {
  // cmake.org/cmake/help/latest/manual/ctest.1.html
  CTest: {
    point: /^ *\d+\/\d+ Test +#\d+: (?<id>\S(?:(?! \.\.).)*) \.{2,}(?: {3}|[^*]{0,40}\*{3})(?<word>.{0,300}?) {1,40}[\d.]+ sec\b/,
    outcomes: { Passed: /^Passed$/, Skipped: /^(?:Skipped|Not Run \(Disabled\))/, Failed: /^Failed/ },
    ends: /^ +Start +\d+: |^$/,
    sum: /^\d{1,3}% tests passed(?:, (?<failed>\d{1,9}) tests? failed)? out of (?<all>\d{1,9})$/,
    begin: /^\d{1,3}% tests passed/,
    run: /^Test project /,
  },
  // mesonbuild.com/Unit-tests.html: with more than one suite the name has them before it.
  Meson: {
    point:
      /^ *\d+\/\d+ (?:\S+ \/ )?(?<id>\S.*?)(?<=\S) +(?<word>OK|FAIL|SKIP|TIMEOUT|ERROR|INTERRUPT|EXPECTEDFAIL|UNEXPECTEDPASS) +[\d.]+ ?s\b/,
    outcomes: { Passed: /^(?:OK|EXPECTEDFAIL)$/, Skipped: /^SKIP$/, Failed: /^(?:FAIL|UNEXPECTEDPASS)$/ },
    ends: /^―+$/,
    sum: /^(?:(?:Fail|Unexpected Pass|Timeout): +(?<failed>\d{1,9})|(?:Ok|Expected Fail|Skipped): +(?<all>\d{1,9})) *$/,
    begin: /^Ok: +\d+ *$/,
  },
  // A test may leave its last line open, before that of its outcome.
  GoogleTest: {
    point: /^(?=.* \(\d+ ms\)$).*?\[ +(?<word>OK|FAILED|SKIPPED) +\] (?<id>[^\s,.]+\.[^\s,]+)(?:, where .*)? \(\d+ ms\)$/,
    outcomes: { Passed: /^OK$/, Skipped: /^SKIPPED$/, Failed: /^FAILED$/ },
    starts: /^\[ RUN +\] /,
    sum: /^(?:\[=+\] (?<all>\d{1,9}) tests? from \d+ test (?:suite|case)s? ran\..*|\[ +FAILED +\] (?<failed>\d{1,9}) tests?, listed below:)$/,
    begin: /^\[=+\] \d+ tests? from \d+ test (?:suite|case)s? ran\. \(\d+ ms total\)$/,
    run: /^\[=+\] Running \d+ tests? from /,
  },
};

/** Reports whether lines have the sum of a runner. */
export const isPointsOf = (format: PointFormat, lines: readonly string[]): boolean =>
  lines.some((line) => line.length < 400 && runners[format].begin.test(line));

/** The end of what a test printed, below or above the line of its outcome. */
function printed({ point, ends, starts }: Runner, lines: readonly string[], at: number): string {
  const near = starts === undefined ? lines.slice(at + 1, at + 151) : lines.slice(Math.max(0, at - 150), at).reverse();
  const end = near.findIndex((line) => (starts ?? ends)?.test(line) === true || point.test(line));
  const said = end === -1 ? near : near.slice(0, end);
  return (starts === undefined ? said.slice(-30) : said.slice(0, 30).reverse()).join('\n');
}

/** Reads a runner that prints a line for each test and adds them up. */
export function parsePoints(format: PointFormat, { stdout }: CommandOutput): ParsedResults {
  const { point, outcomes, sum, begin, run } = runners[format];
  const collector = new Collector();
  const { lines, cut } = linesOf(stdout);
  let [announced, failures, sums, repeats] = [0, 0, 0, false];
  lines.forEach((line, at) => {
    const { failed, all = format === 'Meson' ? failed : undefined } = sum.exec(line)?.groups ?? {};
    if (begin.test(line)) sums += 1;
    announced += Number(all ?? 0);
    failures += Number(failed ?? 0);
    if (line === 'Summary of Failures:' || begin.test(line)) repeats = !begin.test(line);
    const { id, word = '' } = (repeats ? null : point.exec(line)?.groups) ?? {};
    if (id === undefined) return;
    const outcome = (['Passed', 'Skipped', 'Failed'] as const).find((one) => outcomes[one].test(word)) ?? 'Errored';
    collector.add({ id, outcome, ...(outcome !== 'Passed' && { message: printed(runners[format], lines, at) || word }) });
  });
  if (cut || sums === 0) collector.incomplete('no line counts the tests', 'read the output of the check');
  const cure = 'let tests not print what the runner prints';
  if (run !== undefined && sums > lines.filter((line) => run.test(line)).length)
    collector.distrust('TwoSummaries', 'there are more sums of tests than runs of them', cure);
  const bad = collector.found.filter(({ outcome }) => outcome === 'Failed' || outcome === 'Errored').length;
  const ran = collector.found.filter(({ outcome }) => outcome !== 'Skipped').length;
  if (sums > 0 && (bad !== failures || ran > announced || collector.size < announced))
    collector.distrust(
      'CountsDisagree',
      `the sum has ${failures} of ${announced} tests failing, the list ${bad} of ${collector.size}`,
      cure,
    );
  return collector.finish(format);
}
