// agent-image, checks/parse: parser for the tests that Maven runs (Surefire, Failsafe). Imports no other folder of the worker.
import type { CommandOutput, ParsedResults } from './results.ts';
import { Collector, linesOf } from './collector.ts';

export const mavenSum =
  /^\[(?:INFO|WARNING|ERROR)\] Tests run: (\d{1,9}), Failures: (\d{1,9}), Errors: (\d{1,9}), Skipped: (\d{1,9})(?:, Flakes: \d{1,9})?$/;
/** `Class.method`, of older versions `method(Class)`. */
const failed = /^\[ERROR\] (\S.*?)(?: --)? +Time elapsed: [\d.,]+ s +<<< (FAILURE|ERROR)!$/;
const plugin = /^\[INFO\] --- (?:maven-)?(?:surefire|failsafe)(?:-plugin)?:/;
const older = /^([\w$]+)\(([\w$.]+)\)/;

const read = 'read the output of the check';

/**
 * Maven's own lines: a sum for each run of a test plugin, one run for each module. Failing tests have names, passing ones are counted.
 * Under `-q` there is no sum of passing tests: such checks are read by their exit code.
 */
export function parseMavenTest({ stdout }: CommandOutput): ParsedResults {
  const collector = new Collector();
  const { lines, cut } = linesOf(stdout);
  const sums = lines.flatMap((line) => mavenSum.exec(line)?.slice(1).map(Number) ?? []);
  const of = (place: number): number => sums.reduce((sum, count, at) => (at % 4 === place ? sum + count : sum), 0);
  const bad = { Failed: of(1), Errored: of(2) };
  addFailing(collector, lines, bad);
  if (cut || !lines.some((line) => /^\[INFO\] BUILD (?:SUCCESS|FAILURE)$/.test(line))) collector.incomplete('the build has no end', read);
  if (sums.length === 0) collector.incomplete(`no tests ran: ${failureOfMaven(lines) ?? 'Maven names no reason'}`, read);
  if (sums.length / 4 > lines.filter((line) => plugin.test(line)).length)
    collector.distrust('TwoSummaries', 'there are more sums of tests than runs of them', 'let tests not print what Maven prints');
  collector.evidence = 'Counts';
  const passed = of(0) - of(1) - of(2) - of(3);
  collector.unnamed = { passed, failed: Math.max(0, bad.Failed), errored: Math.max(0, bad.Errored), skipped: of(3) };
  // The modules that follow a failing one are not built.
  collector.stopped = of(1) + of(2) > 0;
  return collector.finish('MavenTest');
}

/** Adds the failing tests, with the lines up to the first place in the code, and takes them from the counts. */
function addFailing(collector: Collector, lines: readonly string[], left: { Failed: number; Errored: number }): void {
  lines.forEach((line, at) => {
    const [, name = '', word] = failed.exec(line) ?? [];
    if (word === undefined) return;
    const outcome = word === 'ERROR' ? 'Errored' : 'Failed';
    left[outcome] -= 1;
    const end = lines.findIndex((next, where) => where > at && (/^\s+at |^\[/.test(next) || where > at + 30));
    collector.add({
      id: name.replace(older, '$2.$1'),
      outcome,
      message: lines
        .slice(at + 1, end)
        .join('\n')
        .trim(),
    });
  });
}

/** Returns the reason that Maven gives for a failed build; undefined without one. */
export function failureOfMaven(lines: readonly string[]): string | undefined {
  const from = lines.indexOf('[INFO] BUILD FAILURE');
  const compiling = lines.indexOf('[ERROR] COMPILATION ERROR :');
  return lines.slice((compiling === -1 ? from : compiling) + 1).find((line) => /^\[ERROR\] \S/.test(line) && from !== -1);
}
