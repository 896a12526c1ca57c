// agent-image, checks/parse: agreement of parsed results with exit code and output. Imports no other folder of the worker.
import { countTests, failing, type CommandOutput, type Counts, type ParsedResults, type Problem } from './results.ts';
import { linesOf } from './collector.ts';

/**
 * Demands on every format: something ran, the exit code agrees with the tests, and nothing was dropped on the way.
 * Printed text can be forged; the exit code comes from the runner.
 */
export function withAgreement(results: ParsedResults, output: CommandOutput): ParsedResults {
  const missing = runnerMissing(output);
  if (results.format === 'Exit') return { ...results, problems: [...results.problems, ...missing] };
  const problems = [...results.problems, ...missing, ...disagreements(results, output)];
  if (output.truncated !== true || results.source === 'Files') return { ...results, problems };
  const cut = distrust('TooLarge', 'some of the output was dropped', 'print less, or let the runner write a report file');
  return { ...results, complete: false, problems: [...problems, cut] };
}

/** Messages of runners and shells that cannot even start; most of them end with 1 or 2, not 127. */
const cannotBegin = [
  /^\S*python[\d.]*(?:\.exe)?: No module named (?:pytest|unittest|nose2|tox|nox|coverage)$/,
  /^(?:ERROR: usage: |\S*pytest(?:\.py)?: error: )/,
  /^npm (?:ERR!|error) Missing script: /,
  /^g?make: \*\*\* No rule to make target [^,]{1,200}\.  ?Stop\.$/,
  /^go: (?:cannot find main module|go\.mod file not found)/,
  /^error: Could not find Package\.swift in this directory/,
  /^Couldn't find project\.clj, which is needed for /,
];

function runnerMissing({ exitCode, stderr }: CommandOutput): Problem[] {
  if (exitCode === 0) return [];
  const { lines } = linesOf(stderr.slice(-20_000));
  const said = lines.find((line) => cannotBegin.some((pattern) => pattern.test(line)));
  return said === undefined
    ? []
    : [
        distrust(
          'RunnerMissing',
          `the test runner cannot begin: ${said.slice(0, 200)}`,
          'correct the command, or install the runner in the image or by setup',
        ),
      ];
}

/** Tests that fail by the line which Gradle prints for each task of tests that does; code under test does not print there. */
const failuresOfGradle = (lines: readonly string[]): number =>
  lines.reduce((sum, line) => sum + Number(/^\d{1,9} tests? completed, (\d{1,9}) failed(?:, \d{1,9} skipped)?$/.exec(line)?.[1] ?? 0), 0);

function disagreements(results: ParsedResults, { exitCode, stdout, stderr }: CommandOutput): Problem[] {
  const { source } = results;
  const counts = countTests(results);
  const bad = counts.failed + counts.errored > 0 || results.tests.some(({ outcome }) => failing(outcome));
  const problems: Problem[] = [];
  const told = source === 'Files' && exitCode !== 0 ? failuresOfGradle([...linesOf(stdout).lines, ...linesOf(stderr).lines]) : 0;
  if (told > counts.failed + counts.errored) {
    const why = `Gradle says that ${told} tests fail, and the report files name ${counts.failed + counts.errored}`;
    problems.push(distrust('NamesMissing', why, 'let only the runner write the report files'));
  }
  if (exitCode === 0 && bad) {
    const why = 'the command ends with exit code 0 although tests fail';
    problems.push(distrust('ExitHidesFailure', why, 'let the command end with the exit code of its test runner (no `|| true`, no pipe)'));
  }
  if (exitCode !== null && exitCode !== 0 && !bad && results.complete) {
    const why = `the command ends with exit code ${exitCode} although no test fails`;
    problems.push(distrust('ExitDisagrees', why, 'read its output: something besides the tests fails; give it a check of its own'));
  }
  if (counts.passed + counts.failed + counts.skipped + counts.errored === 0 && results.complete) {
    problems.push(distrust('NoTests', 'no test ran', 'correct the selection of tests in the command'));
  }
  return problems;
}

/** Checks that a report file and the printed output agree: code under test can write either. */
export function crossCheck(file: ParsedResults, printed: ParsedResults): Problem[] {
  if (!printed.complete || printed.evidence === 'Exit') return [];
  const [a, b] = [countTests(file), countTests(printed)];
  const failsA = a.failed + a.errored > 0;
  const failsB = b.failed + b.errored > 0;
  if (failsA === failsB && a.passed <= b.passed + b.errored) return [];
  const story = `the report file says ${describe(a)}, the printed summary ${describe(b)}`;
  return [distrust('SourcesDisagree', story, 'let only the runner write the report file, and nothing print a summary')];
}

function describe({ passed, failed, skipped, errored }: Counts): string {
  return `${passed} passed, ${failed + errored} failed, ${skipped} skipped`;
}

function distrust(code: Problem['code'], message: string, cure: string): Problem {
  return { code, severity: 'Distrust', message, cure };
}
