import type { CommandOutput, Outcome, ResultFormat } from '../parse/results.ts';
import { parseResults } from '../parse/index.ts';
import type { CheckRun, RunEnd } from '../compare/types.ts';

/** Output of a runner for given results. Used by tests only. */
export type Rendered = readonly (readonly [id: string, outcome: Outcome])[];

export const cleanEnd: RunEnd = { exitCode: 0, signal: null, timedOut: false, killed: null, oom: false };

export function output(exitCode: number, stdout: string, more: Partial<CommandOutput> = {}): CommandOutput {
  return { exitCode, stdout, stderr: '', ...more };
}

export function run(format: ResultFormat | 'Auto', command: CommandOutput, end: Partial<RunEnd> = {}): CheckRun {
  const { exitCode } = command;
  return { check: 'unit', end: { ...cleanEnd, exitCode, ...end }, results: parseResults(format, command) };
}

export const exitOf = (tests: Rendered): number => (tests.some(([, outcome]) => outcome === 'Failed' || outcome === 'Errored') ? 1 : 0);

const word = { Passed: 'PASSED', Failed: 'FAILED', Errored: 'ERROR', Skipped: 'SKIPPED' } as const;
const plural = { Passed: 'passed', Failed: 'failed', Errored: 'errors', Skipped: 'skipped' } as const;

/** `pytest -rA -v`, with the summary that the tests add up to. */
export function pytest(tests: Rendered): string {
  const lines = tests.map(([id, outcome]) => `${id} ${word[outcome]}   [ 50%]`);
  const counts = Object.entries(plural).map(([outcome, name]) => [tests.filter((test) => test[1] === outcome).length, name] as const);
  const summary = counts.filter(([count]) => count > 0).map(([count, name]) => `${count} ${name}`);
  const last = summary.length === 0 ? 'no tests ran' : summary.join(', ');
  return `${['=== test session starts ===', `collected ${tests.length} items`, '', ...lines, '', `=== ${last} in 0.12s ===`].join('\n')}\n`;
}

export const pytestRun = (tests: Rendered, exitCode = exitOf(tests)): CheckRun => run('Pytest', output(exitCode, pytest(tests)));

/** TAP 14 with escapes; `Errored` has no separate form. */
export function tap(tests: Rendered): string {
  const escape = (name: string): string => name.replace(/[\\#]/g, String.raw`\$&`);
  const points = tests.map(
    ([id, outcome], at) =>
      `${outcome === 'Failed' ? 'not ok' : 'ok'} ${at + 1} - ${escape(id)}${outcome === 'Skipped' ? ' # SKIP why' : ''}`,
  );
  return `${['TAP version 14', `1..${tests.length}`, ...points].join('\n')}\n`;
}

const xmlEscape = (text: string): string => text.replace(/[<>&"'\n\t\r]/g, (char) => `&#${char.codePointAt(0)};`);

export function junit(tests: Rendered): string {
  const bad = tests.filter(([, outcome]) => outcome === 'Failed').length;
  const errors = tests.filter(([, outcome]) => outcome === 'Errored').length;
  const body = { Passed: '', Failed: '<failure message="no"/>', Errored: '<error message="no"/>', Skipped: '<skipped/>' };
  const cases = tests.map(([id, outcome]) => `<testcase classname="suite" name="${xmlEscape(id)}" time="0.5">${body[outcome]}</testcase>`);
  return `<?xml version="1.0"?>\n<testsuites><testsuite name="suite" tests="${tests.length}" failures="${bad}" errors="${errors}">${cases.join('\n')}</testsuite></testsuites>\n`;
}

export const file = (path: string, text: string): { path: string; bytes: Uint8Array } => ({ path, bytes: new TextEncoder().encode(text) });
