// hack, test: report of failed and flaky tests of the stages. May import any package.
import { readFile } from 'node:fs/promises';

/** More tests than this that pass only at their second try fail the run: then it is not chance any more. */
export const maxFlakes = 3;

/** Failures shown at most: the rest is in the stage's output, and the stage table must stay visible. */
const maxShown = 30;

/** A test, a hook, a file or a rejected promise that failed a stage. */
export interface Failure {
  /** File and full name. */
  readonly name: string;
  /** First lines of its error, of each try. */
  readonly lines: readonly string[];
}

/** A stage's report about its tests in the file named by AGENTFLEET_STAGE_REPORT. */
export interface StageReport {
  /** Tests that failed and then passed, each with the first line of its error. */
  readonly flaky: readonly string[];
  readonly failed: readonly Failure[];
}

interface ReportedStage {
  readonly name: string;
  readonly passed: boolean;
  readonly report: StageReport;
}

/** Returns the report at `path`; an empty one where the stage wrote none. */
export async function readReport(path: string): Promise<StageReport> {
  const text = await readFile(path, 'utf8').catch(() => '{"flaky":[],"failed":[]}');
  return JSON.parse(text) as StageReport;
}

/** Returns the lines that end a run: flaky tests, every failure with its error; and whether the flaky ones fail the run. */
export function describeEnd(stages: readonly ReportedStage[]): { readonly lines: readonly string[]; readonly tooMany: boolean } {
  const flaky = stages.flatMap(({ report }) => report.flaky);
  const failures = stages.flatMap(failuresOf);
  const tooMany = flaky.length > maxFlakes;
  const hidden = failures.length - maxShown;
  return {
    lines: [
      ...flaky.map((name) => `FLAKY, passed at the second try: ${name}`),
      ...(tooMany ? [`${flaky.length} flaky tests are more than the ${maxFlakes} that a run may have`] : []),
      ...failures.slice(0, maxShown).flatMap(({ name, lines }) => [`FAILED ${name}`, ...lines.map((line) => `    ${line}`)]),
      ...(hidden > 0 ? [`and ${hidden} more, in test/.output/*report.json`] : []),
    ],
    tooMany,
  };
}

/** A stage that failed without a failing test is named itself. */
function failuresOf({ name, passed, report }: ReportedStage): readonly Failure[] {
  const failed = report.failed.map((failure) => ({ ...failure, name: `${name}: ${failure.name}` }));
  if (passed || failed.length > 0) return failed;
  return [{ name: `${name}: no test of it failed`, lines: [`its command did; its output begins at "── ${name} ──"`] }];
}
