import type { CommandOutput, ParsedResults } from '../results.ts';
import { goJson } from './goJson.ts';
import { GoPackages } from './goPackages.ts';
import { goText } from './goText.ts';
import { linesOf } from './text.ts';

/**
 * go test: events of `-json` (pkg.go.dev/cmd/test2json) where there are any, else the text of `-v`,
 * else the packages alone. Ids are `package TestName/subtest`.
 *
 * The output of several packages has no last line: only `truncated` tells that some were cut off.
 */
export function parseGoTest({ stdout, stderr, exitCode }: CommandOutput): ParsedResults {
  const { lines, ended, cut } = linesOf(stdout);
  const packages = new GoPackages();
  const whole = ended || lines.length === 0 ? lines : lines.slice(0, -1);
  if (lines.some((line) => line.startsWith('{"'))) goJson(packages, whole);
  else goText(packages, whole);
  // Without a package that fails the run may end anywhere: its exit code must say that it did well.
  const results = packages.finish(exitCode);
  if (ended && !cut) return results;
  const why = stdout === '' ? `no output: ${stderr.trim().slice(0, 200)}` : 'the last line has no line end';
  return {
    ...results,
    complete: false,
    problems: [...results.problems, { code: 'Incomplete', severity: 'Distrust', message: why, cure: 'read the output of the check' }],
  };
}
