import type { Outcome, CommandOutput, ParsedResults } from './results.ts';
import { GoPackages } from './goPackages.ts';
import { goText } from './goText.ts';
import { linesOf } from './collector.ts';

const outcomes: Readonly<Record<string, Outcome>> = { pass: 'Passed', fail: 'Failed', skip: 'Skipped' };

/**
 * Events of test2json. The runner frames its own lines with a control character, so what a test
 * prints becomes `output`; other lines (of the build, of wrappers) are noise.
 */
function goJson(packages: GoPackages, lines: readonly string[]): void {
  for (const line of lines) {
    if (!line.startsWith('{"')) continue;
    const event = eventOf(line);
    if (event === null) packages.malformed(line);
    else take(packages, event);
  }
}

interface GoEvent {
  readonly action: string;
  readonly name: string;
  readonly test: string | null;
  readonly output: string;
  readonly elapsed: number | null;
  readonly failedBuild: string;
}

function eventOf(line: string): GoEvent | null {
  try {
    const event = JSON.parse(line) as Readonly<Record<string, unknown>>;
    if (typeof event !== 'object' || event === null) return null;
    const text = (key: string): string => (typeof event[key] === 'string' ? event[key] : '');
    const elapsed = event['Elapsed'];
    return {
      action: text('Action'),
      name: text('Package'),
      test: typeof event['Test'] === 'string' ? event['Test'] : null,
      output: text('Output'),
      elapsed: typeof elapsed === 'number' ? elapsed : null,
      failedBuild: text('FailedBuild'),
    };
  } catch {
    return null;
  }
}

function take(packages: GoPackages, { action, name, test, output, elapsed, failedBuild }: GoEvent): void {
  if (name === '') return;
  if (action === 'run' && test !== null) return packages.run(name, test);
  if (action === 'output' && test !== null) return packages.output(name, test, output);
  const outcome = outcomes[action];
  if (outcome === undefined) return;
  if (test !== null) packages.end(name, test, outcome, elapsed);
  else packages.close(name, outcome, failedBuild === '' ? '' : `build failed: ${failedBuild}`);
}

/**
 * go test: events of `-json` (pkg.go.dev/cmd/test2json) where there are any, else the text of `-v`, else only the
 * packages. Ids are `package TestName/subtest`.
 *
 * The output of several packages has no last line: only `truncated` shows that some were cut off.
 */
export function parseGoTest({ stdout, stderr, exitCode }: CommandOutput): ParsedResults {
  const { lines, ended, cut } = linesOf(stdout);
  const packages = new GoPackages();
  const whole = ended || lines.length === 0 ? lines : lines.slice(0, -1);
  if (lines.some((line) => line.startsWith('{"'))) goJson(packages, whole);
  else goText(packages, whole);
  // Without a failing package the run may end anywhere: its exit code must report success.
  const results = packages.finish(exitCode);
  if (ended && !cut) return results;
  const why = stdout === '' ? `no output: ${stderr.trim().slice(0, 200)}` : 'the last line has no line end';
  return {
    ...results,
    complete: false,
    problems: [...results.problems, { code: 'Incomplete', severity: 'Distrust', message: why, cure: 'read the output of the check' }],
  };
}
