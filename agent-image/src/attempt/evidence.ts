import { compare, type Reason, type Verdict } from '../checks/index.ts';
import type { Baseline, JudgedCheck } from './baseline.ts';
import { runCheck, type Ran } from './checkRun.ts';

/** One check on some tree, against the baseline. */
export interface Proof {
  readonly judged: JudgedCheck;
  readonly run: Ran;
  readonly verdict: Verdict;
}

/** Reasons that only say that work is left; any other means that something broke or cannot be believed. */
const unfinished: ReadonlySet<Reason['code']> = new Set(['NothingFixed', 'StillFails']);

/** Runs a check on the tree as it is and compares it with its baseline; ends it after some seconds where they are given. */
export async function prove(judged: JudgedCheck, { runner }: Baseline, withinSeconds?: number): Promise<Proof> {
  const run = await runCheck(judged.check, judged.format, runner, withinSeconds);
  return { judged, run, verdict: compare(judged.baseline, run, judged.check.expect) };
}

/** Why a proof is worse than the baseline; null when it is not. */
export function broken({ verdict }: Proof): Reason | null {
  return verdict.reasons.find(({ code }) => !unfinished.has(code)) ?? null;
}

/**
 * Whether a check holds: it is proved, and nothing that failed at the baseline still does. `compare` asks a check that has
 * to fail first for one repaired test only; "Succeeded" promises the whole check.
 */
export function holds({ verdict, run }: Proof): boolean {
  const flaky = new Set(verdict.flaky);
  const left = verdict.stillFailing.filter((id) => !flaky.has(id));
  return verdict.proved && left.length === 0 && (run.end.exitCode === 0 || flaky.size > 0);
}

/** Tests of all checks that failed at the baseline and pass now, as `check/test`. */
export function passing(proofs: readonly Proof[]): ReadonlySet<string> {
  return new Set(proofs.flatMap(({ judged, verdict }) => verdict.newlyPassing.map((id) => `${judged.check.name}/${id}`)));
}

/** Whether a holds all of b and more. */
export function exceeds(a: ReadonlySet<string>, b: ReadonlySet<string>): boolean {
  return a.size > b.size && [...b].every((one) => a.has(one));
}

/** What still fails, in words, for messages. */
export function stillFailing(proofs: readonly Proof[]): readonly string[] {
  return proofs.flatMap(({ verdict }) => verdict.stillFailing);
}
