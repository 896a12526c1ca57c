import type { CommandOutput, Outcome, ParsedResults } from '../results.ts';
import { Collector } from './collector.ts';
import { tapTree, type TapDocument, type TapPoint } from './tapTree.ts';
import { linesOf } from './text.ts';

const cure = 'let nothing but the test runner write TAP to standard output';

/** TAP 13 and 14 from standard output: plan, subtests, SKIP, TODO, bail out. */
export function parseTap({ stdout }: CommandOutput): ParsedResults {
  const collector = new Collector();
  const { lines, ended } = linesOf(stdout);
  const document = tapTree(lines);
  addPoints(collector, document.points, []);
  checkDocument(collector, document, ended);
  checkNumbers(collector, document.points);
  return collector.finish('TAP');
}

/** What holds for every producer: one plan that is kept, no loose subtests, no bail out, no cut line. */
export function checkDocument(collector: Collector, { points, plan, bail, faults, any }: TapDocument, ended: boolean): void {
  for (const fault of faults) collector.distrust('CountsDisagree', fault, cure);
  if (bail !== null) {
    collector.complete = false;
    collector.add({ id: 'Bail out!', outcome: 'Errored', kind: 'Container', message: bail });
    return collector.distrust('BailedOut', `the run bailed out: ${bail}`, 'read the output of the check');
  }
  if (!any) return collector.incomplete('no TAP in the output', 'choose the format that the command writes');
  if (plan === null) return collector.incomplete('TAP without a plan', cure);
  if (points.length < plan.count) collector.incomplete(`a plan of ${plan.count} tests and ${points.length} results`, cure);
  else if (points.length > plan.count)
    collector.distrust('CountsDisagree', `a plan of ${plan.count} tests and ${points.length} results`, cure);
  else if (!ended) collector.incomplete('the last line has no line end', cure);
}

export function addPoints(collector: Collector, points: readonly TapPoint[], above: readonly string[]): void {
  points.forEach((point, at) => {
    const name = point.name === '' ? `test ${at + 1}` : point.name;
    const path = [...above, name];
    addPoints(collector, point.children, path);
    collector.add({
      id: path.join(' > '),
      outcome: outcomeOf(point),
      kind: point.children.length > 0 || point.type === 'suite' ? 'Group' : 'Test',
      ...(point.message !== null && { message: point.message }),
      ...(point.seconds !== null && { seconds: point.seconds }),
    });
  });
}

/** A failing TODO is no failure (TAP 14, "TODO tests"), and no proof either: it counts as skipped. */
export function outcomeOf({ ok, directive }: TapPoint): Outcome {
  if (directive === 'Skip') return 'Skipped';
  if (directive === 'Todo') return ok ? 'Passed' : 'Skipped';
  return ok ? 'Passed' : 'Failed';
}

/** Printed lines that look like points repeat numbers; runners count from 1 (TAP 14, "Test Point ID"). */
function checkNumbers(collector: Collector, points: readonly TapPoint[]): void {
  const seen = new Set<number>();
  for (const { number } of points) {
    if (number === null) continue;
    if (seen.has(number)) collector.distrust('CountsDisagree', `test number ${number} comes twice`, cure);
    if (number < 1 || number > points.length)
      collector.distrust('CountsDisagree', `test number ${number} is outside 1..${points.length}`, cure);
    seen.add(number);
  }
}
