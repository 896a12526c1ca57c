// agent-image, checks/parse: parser for the output of ctest. Imports no other folder of the worker.
import type { CommandOutput, Outcome, ParsedResults } from './results.ts';
import { Collector, linesOf } from './collector.ts';

export const ctestSum = /^\d{1,3}% tests passed(?:, (\d{1,9}) tests? failed)? out of (\d{1,9})$/;
const point = /^ *\d+\/\d+ Test +#\d+: (\S.*?) \.{2,}(?:   |[^*]*\*{3})(.*?) +[\d.]+ sec\b/;
const begins = /^ +Start +\d+: |^$/;

function outcomeOf(word: string): Outcome {
  if (word === 'Passed') return 'Passed';
  if (/^(?:Skipped|Not Run \(Disabled\))/.test(word)) return 'Skipped';
  return word.startsWith('Failed') ? 'Failed' : 'Errored';
}

/** ctest (cmake.org/cmake/help/latest/manual/ctest.1.html): a line for each test, then a sum for each run. */
export function parseCtest({ stdout }: CommandOutput): ParsedResults {
  const collector = new Collector();
  const { lines, cut } = linesOf(stdout);
  let [announced, failures, sums] = [0, 0, 0];
  lines.forEach((line, at) => {
    const [, failed = '0', all] = ctestSum.exec(line) ?? [];
    if (all !== undefined) {
      sums += 1;
      announced += Number(all);
      failures += Number(failed);
    }
    const [, id, word = ''] = point.exec(line) ?? [];
    if (id === undefined) return;
    const outcome = outcomeOf(word);
    const after = [...lines.slice(at + 1, at + 31), ''];
    const end = after.findIndex((next) => begins.test(next) || point.test(next));
    collector.add({ id, outcome, ...(outcome !== 'Passed' && { message: after.slice(0, end).join('\n') || word }) });
  });
  if (cut || sums === 0) collector.incomplete('ctest printed no sum', 'read the output of the check');
  const cure = 'let tests not print what ctest prints';
  if (sums > lines.filter((line) => line.startsWith('Test project ')).length)
    collector.distrust('TwoSummaries', 'there are more sums of tests than runs of them', cure);
  const bad = collector.found.filter(({ outcome }) => outcome === 'Failed' || outcome === 'Errored').length;
  const ran = collector.found.filter(({ outcome }) => outcome !== 'Skipped').length;
  if (sums > 0 && (bad !== failures || ran > announced || collector.size < announced))
    collector.distrust(
      'CountsDisagree',
      `the sum has ${failures} of ${announced} tests failing, the list ${bad} of ${collector.size}`,
      cure,
    );
  return collector.finish('CTest');
}
