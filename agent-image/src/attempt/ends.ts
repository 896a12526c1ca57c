import type { ExpertEndpoint } from '@agentfleet/protocol/pool';
import { badEnd, countTests, wholeRun } from '../checks/index.ts';
import type { JudgedCheck } from './baseline.ts';
import type { Proof } from './evidence.ts';
import { unparsed } from './unparsed.ts';

/** What a search that ended without a result is known to have done. */
export interface SearchEnd {
  readonly checks: readonly JudgedCheck[];
  readonly experts: readonly Pick<ExpertEndpoint, 'name' | 'role' | 'engine'>[];
  readonly tried: number;
  /** Tests that failed at snapshot 0 and pass on the best tree. */
  readonly gained: number;
  /** Ids that still fail on the best tree. */
  readonly left: readonly string[];
}

/** The message of an end, and whether more budget could be its cure. Pure. */
export function describeSearchEnd(end: SearchEnd, spent: string | null): string {
  const { checks, tried, gained, left } = end;
  const failing = checks.reduce((sum, { judgement }) => sum + judgement.failing.length, 0);
  const candidates = `${tried} ${tried === 1 ? 'candidate was' : 'candidates were'} tried and`;
  const best = gained === 0 ? 'none made a failing test pass' : `the best made ${gained} of ${failing} failing tests pass`;
  const open = gained === 0 || left.length === 0 ? '' : `; still failing: ${left.slice(0, 3).map(shownId).join(', ')}`;
  const first = spent === null ? '' : `${spent}; `;
  const came = tried === 0 && gained === 0 ? 'nothing was tried' : `${candidates} ${best}${open}`;
  return `${first}${came}. At snapshot 0, ${seenAtBaseline(checks)}. ${cureOf(end, spent)}`;
}

/** More budget is a cure only for a search that came nearer. */
function cureOf({ checks, experts, gained }: SearchEnd, spent: string | null): string {
  if (spent !== null && gained > 0) return 'A larger budget may reach the rest';
  const [broken] = checks.flatMap(({ baseline }) => baseline.flatMap(({ output }) => unparsed(output)));
  if (broken !== undefined) return `Correct ${broken.path} first, which does not parse, or use a pool with a chat model`;
  const proposers = experts.filter(({ role }) => role === 'Generalist' || role === 'Specialist');
  const names = proposers.map(({ name }) => name).join(', ');
  if (proposers.length > 0 && proposers.every(({ engine }) => engine === 'Synth'))
    return `This pool's experts (${names}: Synth) edit small expressions in Python, JavaScript and TypeScript files that exist; they write no files, no new code and no answers: for other goals use a pool with a chat model`;
  return 'Give the pool an expert for this kind of change, or split the goal';
}

/**
 * What each check did on the untouched tree, in one line: counts and the first failing tests, the file that does not parse, or
 * why the command did not come to its end.
 *
 * @example
 * seenAtBaseline(checks); // 'check unit: 3 passed, 1 failed (test_calc.T.test_half)'
 */
export function seenAtBaseline(checks: readonly JudgedCheck[]): string {
  return checks.slice(0, 3).map(seen).join('; ');
}

/** The tests that failed although their check holds, because they are not repeatable at snapshot 0; `''` without any. */
export function failedThere(proofs: readonly Proof[]): string {
  const ids = proofs.flatMap(({ judged, run, verdict }) => {
    const flaky = new Set([...judged.judgement.flaky, ...verdict.flaky]);
    const failed = run.results.tests.filter(({ id, outcome }) => flaky.has(id) && (outcome === 'Failed' || outcome === 'Errored'));
    return failed.map(({ id }) => shownId(id));
  });
  return ids.length === 0 ? '' : `, but for tests that fail only at times, at snapshot 0 too: ${ids.slice(0, 3).join(', ')}`;
}

function seen({ check, baseline, judgement }: JudgedCheck): string {
  const [first] = baseline;
  if (first === undefined) return `check ${check.name} did not run`;
  if (check.type === 'Artifact') return `check ${check.name}: ${first.output === '' ? 'the file is as it has to be' : first.output}`;
  const parts: string[] = [];
  const bad = badEnd(first);
  const [broken] = unparsed(first.output);
  const { passed, failed, errored } = countTests({ ...first.results, tests: first.results.tests.filter(({ id }) => id !== wholeRun) });
  if (bad !== null) parts.push(`${bad.message} after ${Math.max(1, Math.round(first.millis / 1000))} s (${bad.cure})`);
  if (broken !== undefined) parts.push(`${broken.path}:${broken.line}: ${broken.why}`);
  if (passed + failed + errored > 0) parts.push(`${passed} passed, ${failed + errored} failed${named(judgement.failing)}`);
  else if (bad === null && broken === undefined) parts.push(`exit status ${first.end.exitCode ?? 'unknown'}, ${lastLine(first.output)}`);
  if (judgement.flaky.length > 0) {
    const ids = judgement.flaky.slice(0, 3).map(shownId).join(', ');
    parts.push(`not repeatable in ${baseline.length} runs on the same files, so not counted: ${ids}`);
  }
  return `check ${check.name}: ${parts.join('; ')}`;
}

function named(failing: readonly string[]): string {
  const ids = failing.filter((id) => id !== wholeRun).slice(0, 3);
  const more = failing.filter((id) => id !== wholeRun).length - ids.length;
  return ids.length === 0 ? '' : ` (${ids.map(shownId).join(', ')}${more > 0 ? ` and ${more} more` : ''})`;
}

/** The last line that a command printed often is the reason that it gives. */
function lastLine(output: string): string {
  const line = output.trimEnd().split('\n').at(-1)?.trim() ?? '';
  return line === '' ? 'and it printed nothing' : JSON.stringify(line.slice(0, 160));
}

function shownId(id: string): string {
  return id === wholeRun ? 'the command' : id.slice(0, 120);
}
