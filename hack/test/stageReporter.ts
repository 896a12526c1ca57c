// hack, test: Vitest reporter of a stage's failures. May import any package.
import { writeFile } from 'node:fs/promises';
import { relative } from 'node:path';
import type { TestModule } from 'vitest/node';
import type { Failure, StageReport } from './report.ts';

type ReadModule = Pick<TestModule, 'children' | 'errors' | 'relativeModuleId'>;

/** The parts of a vitest error that are read. */
interface ReadError {
  readonly name?: string;
  readonly message?: string;
  readonly stack?: string;
  readonly stacks?: readonly { readonly file: string; readonly line: number; readonly column: number }[];
}

/** Lines of a message and frames of a stack that are kept of an error. */
const messageLines = 8;
const stackFrames = 3;

/**
 * A reporter of vitest: writes a {@link StageReport} to the file in AGENTFLEET_STAGE_REPORT. Besides tests it names hooks
 * and files that failed, and errors that no test awaited: those fail a run in which all tests pass.
 */
export default class StageReporter {
  async onTestRunEnd(modules: readonly ReadModule[], unhandled: readonly unknown[] = []): Promise<void> {
    const path = process.env['AGENTFLEET_STAGE_REPORT'];
    if (path === undefined) return;
    const report: StageReport = {
      flaky: modules.flatMap(flakyTests),
      failed: [...modules.flatMap(failuresOf), ...unhandled.map(unawaited)],
    };
    await writeFile(path, JSON.stringify(report));
  }
}

function flakyTests({ children, relativeModuleId }: ReadModule): readonly string[] {
  return [...children.allTests('passed')]
    .filter((test) => test.diagnostic()?.flaky === true)
    .map((test) => `${relativeModuleId} > ${test.fullName}: ${firstLine(test.result().errors?.[0]?.message)}`);
}

/** Returns why the first try failed: nothing else prints it. */
function firstLine(message: string | undefined): string {
  return message?.split('\n')[0] ?? 'it did not say why';
}

function failuresOf(module: ReadModule): readonly Failure[] {
  const { children, relativeModuleId: file } = module;
  const suites = [...children.allSuites()].filter((suite) => suite.errors().length > 0);
  return [
    ...failure(`${file} (the file or its hooks)`, module.errors()),
    ...suites.flatMap((suite) => failure(`${file} > ${suite.fullName} (a hook)`, suite.errors())),
    ...[...children.allTests('failed')].flatMap((test) => failure(`${file} > ${test.fullName}`, test.result().errors ?? [{}])),
  ];
}

function failure(name: string, errors: readonly ReadError[]): readonly Failure[] {
  return errors.length === 0 ? [] : [{ name, lines: errors.flatMap(describeError) }];
}

/** Returns an error outside of a test's own promises: an unhandled rejection, a global set-up. */
function unawaited(error: unknown): Failure {
  const read = error as ReadError & { readonly VITEST_TEST_NAME?: string; readonly VITEST_TEST_PATH?: string };
  const where = read.VITEST_TEST_PATH === undefined ? 'outside of the tests' : `while ${relative('.', read.VITEST_TEST_PATH)} ran`;
  const test = read.VITEST_TEST_NAME === undefined ? '' : `, near "${read.VITEST_TEST_NAME}"`;
  return { name: `an error that nothing awaited, ${where}${test}`, lines: describeError(read) };
}

function describeError({ name, message = 'no message', stack, stacks }: ReadError): readonly string[] {
  const [first = '', ...rest] = message.split('\n').filter((line) => line.trim() !== '');
  const parsed = stacks?.map(({ file, line, column }) => `${relative('.', file)}:${line}:${column}`);
  const frames = parsed ?? [...(stack ?? '').matchAll(/^ +at .+$/gm)].map(([frame]) => frame.trim().replace(/^at /, ''));
  return [
    name === undefined ? first : `${name}: ${first}`,
    ...rest.slice(0, messageLines - 1),
    ...frames.slice(0, stackFrames).map((frame) => `at ${frame}`),
  ];
}
