import { isCommandCheck } from '@agentfleet/protocol/api';
import type { Baseline } from './checkRun.ts';
import { holds } from './checkRun.ts';
import { prove } from './checkRun.ts';
import type { Proof } from './checkRun.ts';
import { AttemptFailure } from '../base/failure.ts';
import type { Check } from '@agentfleet/protocol/api';
import { wholeRun } from '../checks/index.ts';
import type { JudgedCheck } from './checkRun.ts';
import { runCheck } from './checkRun.ts';
import type { CheckRunner } from './checkRun.ts';
import type { Ran } from './checkRun.ts';
import { domainOf } from '../features/languages.ts';
import { isForeign } from '../features/languages.ts';

/** Names of what gives another result at each run: random numbers, clocks, threads. */
const sources =
  /\brandom|\brand(?:int|bytes|Bytes|range)\b|\$\{?RANDOM|\bshuf(?:fle)?\b|\buuid|\bsecrets\b|\btime\.(?:time|monotonic|perf_counter|sleep)|\bdatetime\.(?:now|today|utcnow)|\bDate\.now|\bnew Date\(\)|\bperformance\.now|\bset(?:Timeout|Interval)\b|\b[Tt]hread|\basyncio\b|\bconcurrent\b|\bmultiprocessing\b|\bdate \+/;

/** Most files that are read for {@link mayVary}. */
const mostFiles = 64;

/** Most runs on one tree of a check that may vary, and when no further one is begun, ms. */
const mostRuns = 8;

const repeatedMs = 4000;

/**
 * Whether a check, or a program of the workspace, names what gives another result at each run. Files that the check names, or
 * its output, are read first.
 */
export async function mayVary(
  { command }: Pick<Check, 'command'>,
  { output }: Pick<Ran, 'output'>,
  tree: readonly string[],
  read: (path: string) => Promise<Buffer | null>,
): Promise<boolean> {
  const words = `${(command ?? []).join(' ')}\n${output}`;
  if (sources.test((command ?? []).join(' '))) return true;
  const isNamed = (path: string): boolean => words.includes(path.replace(/^.*\//, '').replace(/\.\w+$/, ''));
  const programs = tree.filter((path) => domainOf(path) !== null && !isForeign(path));
  for (const path of programs.toSorted((a, b) => Number(isNamed(b)) - Number(isNamed(a))).slice(0, mostFiles))
    if (sources.test((await read(path))?.toString('utf8') ?? '')) return true;
  return false;
}

/** Runs a check again on the tree as it is, some times or until some seconds have gone by with it. */
export async function runAgain(
  { check, format }: Pick<JudgedCheck, 'check' | 'format'>,
  runner: CheckRunner,
  first: readonly Ran[],
  most = mostRuns,
): Promise<Ran[]> {
  const runs = [...first];
  const took = (): number => runs.reduce((sum, { millis }) => sum + millis, 0);
  while (runs.length < most && took() < repeatedMs) runs.push(await runCheck(check, format, runner));
  return runs;
}

const cure = 'fix the seed, the clock or the order that the test depends on, so that it gives the same result each time';

function passes({ end, results }: Ran, id: string): boolean {
  if (id === wholeRun) return end.exitCode === 0;
  return results.tests.some((test) => test.id === id && test.outcome === 'Passed');
}

/**
 * Looks again at a result on which a check was judged: one that may vary has to hold each time, and one that does not hold is
 * believed only when it does not hold again.
 *
 * @param putBack restores the tree, so that no run sees what the one before it left behind
 * @returns null when all runs say the same, else the proof of a run in which it does not hold
 */
export async function contradiction(proof: Proof, baseline: Baseline, putBack: () => Promise<unknown>): Promise<Proof | null> {
  const { judged, run } = proof;
  if (!isCommandCheck(judged.check) || run.end.interrupted !== undefined || run.end.timedOut || run.millis > repeatedMs) return null;
  const held = holds(proof);
  if (held && !judged.varies) return null;
  const most = held ? mostRuns : 2;
  for (let runs = 1, took = run.millis; runs < most && took < repeatedMs; runs += 1) {
    await putBack();
    const again = await prove(judged, baseline);
    if (again.run.end.interrupted !== undefined) return null;
    if (holds(again) !== held) return held ? again : proof;
    took += again.run.millis;
  }
  return null;
}

/**
 * Why a result is refused on which a check held in one run and fell in another. When the check also gives two results on the tree
 * of snapshot 0, where nothing was changed, it is the check that proves nothing; else the change is to blame.
 *
 * @param atStart runs of the check on the tree of snapshot 0, the ones of the baseline among them
 */
export function flakyCheck(fell: Proof, atStart: readonly Ran[]): AttemptFailure {
  const { check, judgement } = fell.judged;
  const gone = judgement.failing.filter((id) => atStart.some((run) => passes(run, id)));
  const ids = fell.run.results.tests.filter(({ id, outcome }) => id !== wholeRun && (outcome === 'Failed' || outcome === 'Errored'));
  const which =
    ids.length === 0
      ? ''
      : ` (${ids
          .slice(0, 3)
          .map(({ id }) => id.slice(0, 120))
          .join(', ')} failed)`;
  if (gone.length > 0) {
    const passed = atStart.filter((run) => gone.some((id) => passes(run, id))).length;
    const seen = `check ${check.name} gives another result each time it runs on the same files: at snapshot 0, where nothing was changed, it passed in ${passed} of ${atStart.length} runs`;
    return new AttemptFailure('InvalidInput', 'FlakyCheck', `${seen}. Passing proves no change then; ${cure}`);
  }
  const seen = `in a fresh container, check ${check.name} passed in one run and failed in the next on the same files${which}`;
  const blame = `it failed in all ${atStart.length} runs at snapshot 0, so that the change passes only at times`;
  return new AttemptFailure('CheckFailed', 'FlakyCheck', `${seen}; ${blame}: ${cure}`);
}
