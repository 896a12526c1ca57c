import type { Features } from '@agentfleet/protocol/inference';
import { docTestDelta } from '@agentfleet/protocol/inference';
import type { Judge, Run } from '../data/judge.ts';
import type { Problem } from '../data/problems.ts';
import { Random } from '../numeric/random.ts';
import { stableReplays, stratumOf, type Example, type ExampleSplit } from './example.ts';
import { negativeOf } from './negatives.ts';

interface GenerateOptions {
  readonly seed: number;
  /** Labelled programs in all; problems share them evenly. */
  readonly count: number;
  /** Share of the programs of which one replay is turned over, as by a check that flakes. */
  readonly flakyRate: number;
  readonly judge: Judge;
}

/** Programs of one question to the judge. */
const batch = 48;
/** Of every other call it is seen how it ends. */
const visible = (at: number): boolean => at % 2 === 0;
/** Share of the programs that repair the bug. */
const repairs = 0.3;

/** Split of a problem by its name alone, so that it is the same for all counts and seeds of the programs. */
export function splitsOf(problems: readonly Problem[], seed: number): ReadonlyMap<string, ExampleSplit> {
  const order = new Random(seed).shuffle(problems.map(({ name }) => name).sort());
  const part = (at: number): ExampleSplit => (at < 0.6 * order.length ? 'train' : at < 0.8 * order.length ? 'calibration' : 'heldOut');
  return new Map(order.map((name, at) => [name, part(at)]));
}

interface Draft {
  readonly before: string;
  readonly after: string;
  readonly kind: string;
}

function draft(reference: string, random: Random): Draft | null {
  const bug = negativeOf(reference, random);
  if (bug === null) return null;
  if (random.next() < repairs) return { before: bug.source, after: reference, kind: 'repair' };
  const next = negativeOf(random.next() < 0.3 ? reference : bug.source, random);
  return next === null || next.source === bug.source ? null : { before: bug.source, after: next.source, kind: next.kind };
}

/** Returns the change as one hunk of whole lines with two around it, as workers report it. */
function hunkOf({ before, after }: Draft): { readonly text: string; readonly removed: string; readonly added: string } {
  const [a, b] = [before.split('\n'), after.split('\n')];
  let from = 0;
  while (from < a.length && a[from] === b[from]) from += 1;
  let tail = 0;
  while (tail < Math.min(a.length, b.length) - from && a.at(-1 - tail) === b.at(-1 - tail)) tail += 1;
  const [removed, added] = [a.slice(from, a.length - tail), b.slice(from, b.length - tail)];
  const around = (lines: readonly string[]): string[] => lines.map((line) => ` ${line}`);
  const text = [
    ...around(a.slice(Math.max(0, from - 2), from)),
    ...removed.map((line) => `-${line}`),
    ...added.map((line) => `+${line}`),
    ...around(a.slice(a.length - tail).slice(0, 2)),
  ].join('\n');
  return { text, removed: removed.join('\n'), added: added.join('\n') };
}

function featuresOf(drafted: Draft, before: Run, after: Run): Features {
  const { removed, added } = hunkOf(drafted);
  const seen = ({ outcomes }: Run): string[] => Array.from(outcomes).filter((_, at) => visible(at));
  const [was, is] = [seen(before), seen(after)];
  const count = (of: (at: number) => boolean): number => is.filter((_, at) => of(at)).length;
  return {
    edits: 1,
    files: 1,
    charsAdded: added.length,
    charsRemoved: removed.length,
    docTestDelta: docTestDelta([{ before: removed, after: added }]),
    testsTotal: is.length,
    testsFailed: count((at) => is[at] !== 'P'),
    testsFixed: count((at) => is[at] === 'P' && was[at] !== 'P'),
    testsBroken: count((at) => is[at] !== 'P' && was[at] === 'P'),
    testsSkipped: 0,
    compileErrors: after.compiles ? 0 : 1,
    timedOut: is.includes('T') ? 1 : 0,
    crashed: after.crashed ? 1 : 0,
    ...(after.compiles && !after.crashed && { complexityDelta: after.complexity - before.complexity, lintDelta: after.lint - before.lint }),
  };
}

const passes = ({ outcomes }: Run): boolean => /^P+$/.test(outcomes);
const passesVisible = ({ outcomes }: Run): boolean => Array.from(outcomes).every((outcome, at) => outcome === 'P' || !visible(at));

async function labelled(
  problem: Problem,
  split: ExampleSplit,
  drafts: readonly Draft[],
  expected: readonly string[],
  options: GenerateOptions,
  random: Random,
): Promise<Example[]> {
  const sources = drafts.flatMap(({ before, after }) => [before, ...Array.from({ length: stableReplays }, () => after)]);
  const runs = await options.judge.runAll(problem, sources, expected);
  return drafts.flatMap((drafted, at): readonly Example[] => {
    const [before, first, ...more] = runs.slice(at * (1 + stableReplays), (at + 1) * (1 + stableReplays));
    // A worker begins where a test fails; a bug that no test sees asks for no repair.
    if (before === undefined || first === undefined || passesVisible(before)) return [];
    const flakes = random.next() < options.flakyRate ? random.below(stableReplays) : -1;
    const replays = [first, ...more].map((run, replay) => passes(run) !== (replay === flakes));
    const stratum = stratumOf(replays, passesVisible(first));
    if (stratum === null) return [];
    const features = featuresOf(drafted, before, first);
    const { text } = hunkOf(drafted);
    return [{ id: '', problem: problem.name, split, head: 'Code', stratum, text, operator: drafted.kind, features, replays }];
  });
}

/** Questions to the judge of one problem that may come to nothing, one after the other. */
const mostIdle = 12;

/** So many programs of one problem; fewer where hardly a bug of it is seen by a test. */
async function* ofProblem(
  problem: Problem,
  share: number,
  split: ExampleSplit,
  options: GenerateOptions,
): AsyncGenerator<readonly Example[]> {
  const expected = await options.judge.expected(problem);
  const random = new Random(
    options.seed + Array.from(problem.name).reduce((sum, letter) => (31 * sum + letter.charCodeAt(0)) % 1_000_003, 7),
  );
  let made = 0;
  for (let idle = 0; made < share && idle < mostIdle;) {
    const drafts: Draft[] = [];
    for (let attempt = 0; attempt < 4 * batch && drafts.length < Math.min(batch, 2 * (share - made)); attempt += 1) {
      const drafted = draft(problem.source, random);
      if (drafted !== null) drafts.push(drafted);
    }
    const found = (await labelled(problem, split, drafts, expected, options, random)).slice(0, share - made);
    yield found.map((one, at) => ({ ...one, id: `${problem.name}.${made + at}` }));
    made += found.length;
    idle = found.length === 0 ? idle + 1 : 0;
  }
}

/**
 * Labelled programs problem by problem: bugs of random kinds are planted, repaired or replaced by others, and everything is run twice.
 * What one problem does not give, the next ones do.
 */
export async function* generateExamples(problems: readonly Problem[], options: GenerateOptions): AsyncGenerator<readonly Example[]> {
  const splits = splitsOf(problems, options.seed);
  let made = 0;
  for (const [place, problem] of problems.entries()) {
    const share = Math.ceil((options.count - made) / (problems.length - place));
    for await (const some of ofProblem(problem, share, splits.get(problem.name) ?? 'train', options)) {
      made += some.length;
      yield some;
    }
  }
}
