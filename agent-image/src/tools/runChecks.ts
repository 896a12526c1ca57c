import { toolDefinition } from '@agentfleet/protocol/chat';
import { tail, broken, holds, prove, proveAgain, type JudgedCheck, type Proof } from '../attempt/checkRun.ts';
import { countTests, failing, wholeRun } from '../checks/index.ts';
import { shortened } from '../base/text.ts';
import { changesBetween, refusalOf } from '../attempt/acts.ts';
import { failuresIn, isNamed, type Failure } from './failures.ts';
import { folded } from './folded.ts';
import { count, plain, treeNow, ArgumentError, type Observation, type Tool, type ToolContext } from './tool.ts';

/** Tests that one list names, and characters of the output of a check that does not hold. */
const maxNamed = 20;
/** Of new tests: their author knows them. */
const maxNew = 5;
const addedWords = 'new since the start';
const flakyWords = 'fail in one run and pass in the next, passed at the start: flaky before, or by the change';
/** Characters of a list that is not shown twice. */
const longList = 200;
const mayWords = 'still fail, as they may';
const maxOutput = 4000;
const maxWarning = 240;

/** Runs the task's checks on the current tree, and reverts their changes. */
export const runChecks: Tool = {
  definition: toolDefinition('run_checks'),
  run: async (args, context) => {
    const chosen = choose((args as { readonly names?: readonly string[] }).names, context);
    const tree = await treeNow(context);
    const proofs: Proof[] = [];
    const unsteady = new Map<Proof, ReadonlySet<string>>();
    for (const judged of chosen) {
      const proof = await proveAgain(judged, context.baseline);
      await context.scope.session.backTo(tree);
      proofs.push(proof);
      unsteady.set(proof, await passingAgain(proof, context, tree));
    }
    const { scope, prepared, baseline } = context;
    const refused = refusalOf(await changesBetween(scope.session, baseline.protectedSet, prepared.initial.id, tree, true));
    const held = proofs.filter(holds).length;
    const failed = proofs.filter((proof) => !holds(proof)).map(({ judged }) => judged.check.name);
    const which = held === 0 ? '' : `; failing: ${named(failed, maxNew)}`;
    const all = chosen.length === baseline.checks.length;
    const review = baseline.reviews.length > 0 ? '; a person reviews the result after submit' : '';
    const part = all ? '' : partOf(chosen, context);
    const sum =
      held === proofs.length
        ? `all ${all ? '' : 'of these '}checks hold${part}${review}`
        : `${held} of ${count(proofs.length, 'check')} hold${part}${which}`;
    const last = refused === null ? [sum] : [`the result is refused: ${refused.message}`, `${sum}, but the result is refused`];
    return { ...reported(proofs, unsteady, last, context), ok: true, holds: all && held === proofs.length && refused === null };
  },
};

/** Checks that were run where others were not, in words: a sum outlasts what stands above it. */
function partOf(chosen: readonly JudgedCheck[], { baseline }: ToolContext): string {
  const others = baseline.checks.filter((one) => !chosen.includes(one));
  const of = (checks: readonly JudgedCheck[]): string => named(checks.map(({ check }) => check.name), maxNew);
  return ` (${of(chosen)}); not run: ${of(others)}`;
} // prettier-ignore

/** Most tests that are looked at in a second run, and the time that the first may have taken, ms. */
const again = { tests: 5, millis: 20_000 };

/** Tests that fail, passed at the start, and pass in a second run on the same files. */
async function passingAgain({ judged, run, verdict }: Proof, context: ToolContext, tree: string): Promise<ReadonlySet<string>> {
  const fell = verdict.regressed.filter((id) => id !== wholeRun);
  if (fell.length === 0 || fell.length > again.tests || run.millis > again.millis || run.end.timedOut) return new Set();
  const second = await prove(judged, context.baseline);
  await context.scope.session.backTo(tree);
  const passed = new Set(second.run.results.tests.filter(({ outcome }) => outcome === 'Passed').map(({ id }) => id));
  return new Set(fell.filter((id) => passed.has(id)));
}

type Unsteady = ReadonlyMap<Proof, ReadonlySet<string>>;

/** The report, and where it leaves something out the handle of one that has all. */
function reported(
  proofs: readonly Proof[],
  unsteady: Unsteady,
  last: readonly string[],
  context: ToolContext,
): Pick<Observation, 'text' | 'whole'> {
  const shown = proofs.map((proof) => describe(proof, unsteady.get(proof) ?? new Set(), context));
  const whole = proofs.map((proof) => describe(proof, unsteady.get(proof) ?? new Set(), null));
  const left = proofs.filter((_, at) => shown[at] !== whole[at]).map(({ judged }) => judged.check.name);
  if (left.length === 0 || context.handle === null) return { text: [...shown, ...last].join('\n\n') };
  const from = [...shown, ...last].join('\n\n').split('\n').length + 4;
  const rest = `[cut: read_file {handle: "${context.handle}", from_line: ${from}} reads all about ${left.join(', ')}]`;
  const text = [...shown, rest, ...last].join('\n\n');
  return { text, whole: `${text}\n\n${whole.filter((_, at) => shown[at] !== whole[at]).join('\n\n')}` };
}

function choose(given: readonly string[] | undefined, { baseline }: ToolContext): ToolContext['baseline']['checks'] {
  const known = baseline.checks.map(({ check }) => check.name);
  const names = given?.flatMap((name) => (known.includes(name) ? [name] : name.split(/[\s,]+/).filter((one) => one !== '')));
  const unknown = names?.find((name) => !known.includes(name));
  if (unknown !== undefined)
    throw new ArgumentError(`names: there is no check ${plain(unknown)}; the checks are: ${known.join(', ') || 'none'}`);
  if (known.length === 0) throw new ArgumentError('the task has no checks that a command decides; go by its goal');
  return names === undefined || names.length === 0 ? baseline.checks : baseline.checks.filter(({ check }) => names.includes(check.name));
}

/** @param unsteady tests that passed in a second run @param context null: nothing is left out */
function describe(proof: Proof, unsteady: ReadonlySet<string>, context: ToolContext | null): string {
  const { judged, verdict, run } = proof;
  const flaky = new Set(verdict.flaky);
  const still = verdict.stillFailing.filter((id) => !flaky.has(id));
  const groups = groupsOf(proof);
  const lists: readonly (readonly [string, readonly string[]])[] = [
    ['broke, passed at the start', verdict.regressed.filter((id) => !unsteady.has(id))],
    [flakyWords, [...unsteady]],
    ['did not run, ran at the start', verdict.missing],
    ['are skipped, ran at the start', verdict.newlySkipped],
    ['pass now, failed at the start', verdict.newlyPassing],
    [judged.judgement.expect === 'NoRegression' ? mayWords : 'still fail', still],
    [addedWords, verdict.added],
    ['are flaky and count for nothing', verdict.flaky],
  ];
  const changes = lists
    .map(([what, ids]) => [what, ids.filter((id) => !groups.has(id))] as const)
    .filter(([, ids]) => ids.length > 0)
    .map(([what, ids]) => {
      const list = `${what} (${ids.length}): ${named(ids, what === addedWords ? maxNew : context === null ? ids.length : maxNamed)}`;
      const isKnown = what === mayWords && list.length > longList && context?.memory.shows(list) === true;
      return isKnown ? `${what} (${ids.length}), the same as before` : list;
    });
  const good = holds(proof);
  const why = broken(proof);
  const failed = verdict.newlyPassing.includes(wholeRun) ? ['it failed at the start'] : [];
  const anyway = judged.judgement.expect === 'NoRegression' ? ', as no test fails that passed at the start' : ', as only flaky tests fail';
  const holding = `holds${run.end.exitCode === 0 ? '' : anyway}`;
  const head = `${judged.check.name}: ${good ? holding : 'does not hold'} (${[endOf(proof), ...countsOf(proof), ...failed].join('; ')})`;
  const excused = why?.code === 'Regressed' && verdict.regressed.every((id) => unsteady.has(id));
  const reason = good || why === null || excused ? [] : [`${plain(why.message)}; ${plain(why.cure)}`];
  const shown = good ? warned(newWarnings(proof)) : outputOf(proof, context);
  return [head, ...changes, ...reason, ...shown].join('\n');
}

/**
 * The output of a check that does not hold. Where it is long, what it says of tests that did not fail at the start comes first, and of
 * the others those that the model has not seen, as many as fit; what may fail is named.
 */
function outputOf(proof: Proof, context: ToolContext | null): readonly string[] {
  const output = plain(proof.run.output).trim();
  const whole = folded(output);
  const mayFail = proof.judged.judgement.expect === 'NoRegression';
  const end = ['end of its output:', (context === null ? whole : tail(whole, maxOutput)) || '[no output]'];
  if (context === null || (whole.length <= maxOutput && !mayFail)) return end;
  const { failures, rest } = failuresIn(output);
  const { fresh, known, others } = sorted(proof, failures);
  if (failures.length === 0) return end;
  const seen = others.filter((one) => (mayFail && known.includes(one)) || context.memory.shows(tail(one.text, maxOutput)));
  const open = others.filter((one) => !seen.includes(one));
  const shown = open.slice(0, Math.max(1, fitting(open)));
  return [
    ...(fresh.length === 0 ? [] : ['its output about tests that did not fail at the start:', ...fresh.map(({ text }) => text)]),
    ...(shown.length === 0 ? [] : ['its output about other tests:', ...shown.map(({ text }) => tail(text, maxOutput))]),
    'end of the rest of its output:',
    tail(folded(rest.trim()), maxOutput / 2),
    ...leftOut(open.slice(shown.length), 'for want of room'),
    ...leftOut(seen, mayFail ? 'as they failed at the start and may' : 'as it was shown before'),
  ];
}

/** Failures of tests that did not fail at the start, all others, and those of the others that surely failed at the start. */
function sorted({ verdict }: Proof, failures: readonly Failure[]): Readonly<Record<'fresh' | 'others' | 'known', readonly Failure[]>> {
  const added = new Set(verdict.added);
  const old = verdict.stillFailing.filter((id) => !added.has(id));
  const broke = [...verdict.regressed, ...verdict.stillFailing.filter((id) => added.has(id))];
  const isOf = (ids: readonly string[], { name }: Failure): boolean => isNamed(name, ids);
  const found = failures.filter((one) => isOf(broke, one));
  const known = failures.filter((one) => !found.includes(one) && isOf(old, one));
  // Where no name is one that the results have, what is unknown may be new.
  const fresh = found.length > 0 || broke.length === 0 ? found : failures.filter((one) => !known.includes(one));
  return { fresh, known, others: failures.filter((one) => !fresh.includes(one)) };
}

/** Number of failures that fit whole. */
function fitting(failures: readonly Failure[]): number {
  let left = maxOutput;
  const over = failures.findIndex(({ text }) => (left -= text.length) < 0);
  return over === -1 ? failures.length : over;
}

function leftOut(failures: readonly Failure[], why: string): readonly string[] {
  if (failures.length === 0) return [];
  const names = named(
    failures.map(({ name }) => name),
    maxNamed,
  );
  return [`[without its output about ${count(failures.length, 'test')}, ${why}: ${names}]`];
}

/** Warnings of a check that holds, without those of the start; numbers in them are places, which an edit moves. None where the start is cut. */
function newWarnings({ judged: { baseline }, run }: Proof): readonly string[] {
  const before = baseline[0]?.output ?? '';
  if (before.startsWith('…')) return [];
  const key = (line: string): string => line.replaceAll(/[^A-Za-z'"`/.]+/g, ' ').trim();
  const known = new Map<string, number>();
  for (const one of warningsIn(plain(before)).map(key)) known.set(one, (known.get(one) ?? 0) + 1);
  return warningsIn(plain(run.output)).filter((line) => {
    const left = known.get(key(line)) ?? 0;
    known.set(key(line), left - 1);
    return left <= 0;
  });
}

/** Lines with a warning, without sums of them; behind the line of the file that they stand below. */
function warningsIn(output: string): readonly string[] {
  let file = '';
  return output.split('\n').flatMap((line) => {
    const isBelow = /^\s+\S/.test(line);
    if (!isBelow) file = line.trim();
    if (!/warning\b/i.test(line) || /\b(?:\d+|no) warnings?\b/i.test(line)) return [];
    return [isBelow && /[./]/.test(file) && !/\s/.test(file) ? `${file}: ${line.trim()}` : line.trim()];
  });
}

function warned(lines: readonly string[]): readonly string[] {
  if (lines.length === 0) return [];
  const more = lines.length > maxNew ? [`… (${lines.length - maxNew} more)`] : [];
  return [
    `warnings that it did not have at the start (${lines.length}):`,
    ...lines.slice(0, maxNew).map((line) => shortened(line, maxWarning)),
    ...more,
  ];
}

/** Ids that are no tests: the command as a whole, and groups, whose tests are named separately unless only what is around them failed. */
function groupsOf({ judged, run }: Proof): ReadonlySet<string> {
  const all = [run, ...judged.baseline].flatMap(({ results }) => results.tests);
  const groups = all.some(({ kind, outcome }) => kind !== 'Group' && failing(outcome)) ? all.filter(({ kind }) => kind === 'Group') : [];
  return new Set([wholeRun, ...groups.map(({ id }) => id)]);
}

/** Counts of all tests, as the lists only have changed ones. */
function countsOf({ run: { results } }: Proof): readonly string[] {
  const counts = countTests(results);
  const shown = (['passed', 'failed', 'errored', 'skipped'] as const).filter((state) => counts[state] > 0);
  const all = shown.reduce((sum, state) => sum + counts[state], 0);
  return all === 0 || results.format === 'Exit'
    ? []
    : [`of ${count(all, 'test')} ${shown.map((state) => `${counts[state]} ${state}`).join(', ')}`];
}

function named(ids: readonly string[], most: number): string {
  const more = ids.length > most ? `, … (${ids.length - most} more)` : '';
  return `${ids.slice(0, most).map(plain).join(', ')}${more}`;
}

function endOf({ run: { end, millis } }: Proof): string {
  const seconds = `${(millis / 1000).toFixed(1)} s`;
  if (end.timedOut) return `ended at its time limit after ${seconds}`;
  return end.exitCode === null
    ? `ended after ${seconds} by ${end.killed ?? end.signal ?? 'a fault'}`
    : `exit status ${end.exitCode}, ${seconds}`;
}
