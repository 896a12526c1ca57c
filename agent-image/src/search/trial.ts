import type { Candidate, ShellAct } from '@agentfleet/protocol/inference';
import { inSpan, tool as toolSpan } from '@agentfleet/protocol/tracing';
import { consentTo, deletionRefused, type Consent } from '../attempt/approvals.ts';
import { earlierRun, identityOf, type ActedNote, type EarlierRun, type TrialResult } from '../attempt/notes.ts';
import { judgeEffects, reachOfActs, onlyOnce, perform, runActs } from '../attempt/acts.ts';
import {
  type Baseline,
  type JudgedCheck,
  broken,
  exceeds,
  holds,
  passing,
  prove,
  type Proof,
  timeoutOf,
  type Ran,
  runCheck,
} from '../attempt/checkRun.ts';
import { EditMismatch, rewritesOf, type Rewrite } from '../features/index.ts';
import type { Gate, GateVerdict, Proposal } from '../attempt/gate.ts';
import { enter, leave, snapshotOf, type SearchNode } from './node.ts';
import type { Scope } from '../attempt/scope.ts';
import { isCommandCheck } from '@agentfleet/protocol/api';
import { judgeBaseline, selectTests, wholeRun } from '../checks/index.ts';

/** Result of one candidate. */
export interface Trial {
  readonly result: TrialResult;
  readonly decision: GateVerdict['decision'];
  readonly why: string;
  readonly rewrites: readonly Rewrite[];
  readonly acts: readonly ShellAct[];
  /** Snapshot of the tree after its commands; null for a candidate that only edits. */
  readonly after: string | null;
  readonly proofs: readonly Proof[];
  /** It was refused, and an earlier worker may have done its commands. */
  readonly possiblyDone: boolean;
  /** A check was ended before the time that the task gives it. */
  readonly cut: boolean;
}

const nothing = { rewrites: [], acts: [], after: null, proofs: [], possiblyDone: false, cut: false } as const;

interface Admitted extends Pick<Trial, 'rewrites' | 'acts'> {
  readonly candidate: Candidate;
  readonly approved: boolean;
  /** Gate 2 allowed the acts that the rails left to it. */
  readonly reviewed: boolean;
  readonly earlier: EarlierRun;
}

/**
 * Judges a candidate on the tree of a node, and restores that tree, whatever the candidate did. Without `fullTime` a
 * check may take no longer than its baseline suggests.
 */
export function attemptCandidate(place: Place, candidate: Candidate): Promise<Trial> {
  return inSpan(toolSpan.name('try_candidate'), { attributes: toolSpan.request('try_candidate', candidate.id) }, async (span) => {
    const trial = await judgeCandidate(place, candidate);
    span.set({ 'agentfleet.call.ok': trial.result === 'Reached', 'agentfleet.call.refused': trial.result === 'Denied' });
    return trial;
  });
}

async function judgeCandidate(place: Place, candidate: Candidate): Promise<Trial> {
  const { scope, gate, node } = place;
  const { session, meter } = scope;
  meter.check();
  meter.add('candidates');
  const rewrites = await readable(candidate, (path) => session.read(path));
  if (typeof rewrites === 'string') return { result: 'Unusable', decision: 'Deny', why: rewrites, ...nothing };
  const { acts = [] } = candidate;
  const verdict = gate.judge({ rewrites, acts });
  const { decision } = verdict;
  const earlier = await earlierRun(scope, node, candidate);
  const consent = await consentOf(scope, candidate, { rewrites, acts }, verdict, earlier);
  if (!consent.allowed) {
    meter.add('vetoes');
    return { result: 'Denied', decision, why: consent.why, ...nothing, possiblyDone: earlier.unseen > 0 };
  }
  await snapshotBefore(scope, node, verdict, acts.length > 0);
  const admitted = { candidate, rewrites, acts, approved: consent.approved, reviewed: verdict.review.length > 0, earlier };
  const tried = await tryTwice(place, admitted);
  if (tried.result === 'Denied') meter.add('vetoes');
  return { ...tried, rewrites, acts, decision: tried.result === 'Denied' ? 'Deny' : decision, possiblyDone: false };
}

/** A candidate that ended before this worker started was allowed before it began. */
async function consentOf(
  scope: Scope,
  candidate: Candidate,
  proposal: Proposal,
  verdict: GateVerdict,
  { after, unseen }: EarlierRun,
): Promise<Consent> {
  if (!verdict.allowed) return { allowed: false, approved: false, why: verdict.why };
  return after === null ? consentTo(scope, candidate, proposal, verdict, unseen) : { allowed: true, approved: true, why: '' };
}

async function readable(candidate: Candidate, read: Parameters<typeof rewritesOf>[1]): Promise<readonly Rewrite[] | string> {
  try {
    return await rewritesOf(candidate.edits, read);
  } catch (error) {
    if (error instanceof EditMismatch) return error.message;
    throw error;
  }
}

/** The tree is that of the node, so a snapshot is needed only where the node has none, or the task demands one per step. */
async function snapshotBefore({ context, session }: Scope, node: SearchNode, { snapshotFirst }: GateVerdict, acts: boolean): Promise<void> {
  const { policy } = context.task.spec.snapshots;
  if (policy === 'InitialOnly' && !acts) return;
  if (policy === 'EveryStep' || (snapshotFirst && node.snapshot === null)) await session.snapshot(`before ${node.planId}`);
}

interface Place {
  readonly scope: Scope;
  readonly baseline: Baseline;
  readonly gate: Gate;
  readonly node: SearchNode;
  /** Checks have all the time that the task gives them. */
  readonly fullTime: boolean;
  /** Runs of failing tests alone, one for each check that fails; none where whole checks are as quick. */
  readonly quick: readonly JudgedCheck[];
}

type Judged = Pick<Trial, 'result' | 'why' | 'proofs' | 'cut'>;
type Tried = Judged & Pick<Trial, 'after'>;

/**
 * Tries a candidate. A run cut off by the loss of the tools container is repeated once; a candidate that loses it twice is to
 * blame. Commands that had ended before the loss are not run again; those that a person allowed or that have external effects never
 * are.
 */
async function tryTwice(place: Place, admitted: Admitted): Promise<Tried> {
  const first = await tryOnce(place, admitted, admitted.earlier.after);
  const reach = reachOfActs(place.scope.context);
  if (first.result !== 'Crashed' || (first.after === null && onlyOnce(place.gate, { ...admitted, reach }))) return first;
  return tryOnce(place, admitted, first.after);
}

async function tryOnce(place: Place, admitted: Admitted, done: string | null): Promise<Tried> {
  const { scope, node } = place;
  scope.progress.revoke('TreeClean');
  await perform(scope, { after: done, rewrites: admitted.rewrites });
  const acted = done !== null || admitted.acts.length === 0 ? { after: done } : await act(place, admitted);
  if ('result' in acted) {
    if (acted.result === 'Crashed') await toolsAgain(scope);
    await enter(scope, node);
    return { ...acted, after: null, proofs: [], cut: false };
  }
  const judged = await judge(place);
  const suspect = judged.proofs.some(
    ({ run: { end } }) => end.timedOut || end.killed !== null || end.exitCode === null || end.interrupted !== undefined,
  );
  if (judged.result === 'Crashed') await toolsAgain(scope);
  const anything = acted.after !== null || judged.result === 'Crashed' || judged.result === 'Better' || judged.result === 'Reached';
  if (anything) await enter(scope, node);
  else await leave(scope, node, admitted.rewrites, suspect);
  return { ...judged, ...acted };
}

async function toolsAgain({ session }: Scope): Promise<void> {
  await session.until(({ ready }) => ready, 60_000, 'ToolsLost', 'the tools container did not come back');
}

/** Runs the commands, and checks their changes by the rules for edits before any check can be trusted. */
async function act(
  { scope, baseline, gate, node }: Place,
  { candidate, acts, approved, reviewed, earlier }: Admitted,
): Promise<Omit<Judged, 'proofs' | 'cut'> | { readonly after: string }> {
  const { context, session } = scope;
  const reach = reachOfActs(context);
  const identity = { ...identityOf(scope, node, candidate), once: onlyOnce(gate, { acts, approved, reach }) };
  const failed = await runActs(scope, gate, { acts, approved: approved || reviewed, reach }, identity);
  if (failed !== null) return failed;
  const snapshot = await session.snapshot(`after commands on ${node.planId}`);
  const { refused, deleted } = await judgeEffects(session, baseline, gate, snapshotOf(node), snapshot.id);
  if (refused !== null) return { result: 'Denied', why: refused };
  const why = approved ? null : await deletionRefused(scope, candidate, deleted, earlier.unseen);
  if (why !== null) return { result: 'Denied', why };
  if (identity.once) {
    // A worker that takes over continues from the snapshot.
    const { id, manifestDigest } = snapshot;
    const note: ActedNote = { attempt: context.assignment.attempt, ...identity, snapshot: { id, manifestDigest } };
    await session.note('Acted', { ...note });
  }
  return { after: snapshot.id };
}

/**
 * The tests that fail at the baseline alone, where that is quicker; then the checks that fail there, the fastest first; then, when
 * these are better, all the others.
 */
async function judge(place: Place): Promise<Judged> {
  const { baseline, quick } = place;
  const fails = ({ judgement }: JudgedCheck): boolean => judgement.failing.length > 0;
  const byTime = baseline.checks.toSorted((a, b) => (a.baseline[0]?.millis ?? 0) - (b.baseline[0]?.millis ?? 0));
  const early = quick.length === 0 ? null : await noBetter([], quick, place);
  if (early !== null) return early;
  const proofs: Proof[] = [];
  const late = await noBetter(proofs, byTime.filter(fails), place);
  if (late !== null) return late;
  const whole = { proofs, cut: false };
  for (const judged of byTime.filter((one) => !fails(one))) {
    const worse = await add(proofs, judged, place);
    if (worse !== null) return { ...worse, proofs };
  }
  if (proofs.every(holds)) return { result: 'Reached', why: 'all checks hold', ...whole };
  return { result: 'Better', why: `${passing(proofs).size} tests pass that failed`, ...whole };
}

/** Returns the result of a candidate with which no further test of these checks passes; else null. */
async function noBetter(proofs: Proof[], checks: readonly JudgedCheck[], place: Place): Promise<Judged | null> {
  for (const judged of checks) {
    const worse = await add(proofs, judged, place);
    if (worse !== null) return { ...worse, proofs };
  }
  const before = place.node.passing;
  const now = passing(proofs);
  if (exceeds(now, before)) return null;
  const result = [...before].every((id) => now.has(id)) ? 'Equal' : 'Worse';
  return { result, why: 'no further test passes', proofs, cut: false };
}

async function add(proofs: Proof[], judged: JudgedCheck, { scope, baseline, fullTime }: Place): Promise<Omit<Judged, 'proofs'> | null> {
  const timeout = timeoutOf(judged.check, scope.context.task);
  const within = fullTime ? Number.POSITIVE_INFINITY : trialSeconds(judged.baseline, timeout);
  const proof = await prove(judged, baseline, within);
  proofs.push(proof);
  const reason = broken(proof);
  if (reason === null) return null;
  const cut = proof.run.end.timedOut && within < timeout;
  const why = cut ? `check ${judged.check.name} did not end within ${within} s, which is long for it by snapshot 0` : reason.message;
  return { result: reason.code === 'Interrupted' ? 'Crashed' : 'Worse', why, cut };
}

/** A trial may take this many times as long as the check at the baseline, and at least so many seconds on a busy node. */
const times = 10;
const leastSeconds = 10;

/** Share of the time of the check, within these seconds, where the baseline timed out: most candidates time out there too. */
const shareOfTimeout = 0.1;
const hangSeconds = { least: 5, most: 30 } as const;

/**
 * Returns the seconds that a check of a candidate may take: a candidate whose loop never ends must not cost the whole
 * time of the check, which is minutes by default. Infinite where the baseline ended, but does not show how long the
 * tests take: they did not all run to their end there.
 *
 * @param timeoutSeconds time limit of the check in the task
 */
export function trialSeconds(baseline: readonly Pick<Ran, 'end' | 'results' | 'millis'>[], timeoutSeconds: number): number {
  if (baseline.some(({ end }) => end.timedOut))
    return Math.min(hangSeconds.most, Math.max(hangSeconds.least, Math.ceil(shareOfTimeout * timeoutSeconds)));
  const ran = ({ end, results }: (typeof baseline)[number]): boolean =>
    end.killed === null &&
    results.complete &&
    results.evidence === 'Tests' &&
    results.tests.every(({ kind, outcome }) => kind !== 'Container' && outcome !== 'Errored');
  if (baseline.length === 0 || !baseline.every(ran)) return Number.POSITIVE_INFINITY;
  return Math.max(leastSeconds, Math.ceil((times * Math.max(...baseline.map(({ millis }) => millis))) / 1000));
}

/** A check that takes less is run whole, ms. */
const worthwhileMs = 2000;
const mostTests = 20;

/**
 * Returns, for each failing check, a run of its failing tests alone, where the runner can select them and they fail
 * alone as well in half of the time or less. A candidate with which no further one passes needs no run of the whole
 * check. The tree is that of snapshot 0; the caller reverts changes of the runs. Empty when no check has such a run.
 */
export async function quickChecks({ checks, runner }: Baseline): Promise<readonly JudgedCheck[]> {
  const failing = checks.filter(({ judgement }) => judgement.failing.length > 0);
  const quick: JudgedCheck[] = [];
  for (const judged of failing) quick.push((await alone(judged, runner)) ?? judged);
  return quick.every((one) => failing.includes(one)) ? [] : quick;
}

async function alone({ check, baseline, judgement, format, varies }: JudgedCheck, runner: Baseline['runner']): Promise<JudgedCheck | null> {
  const [first] = baseline;
  const { failing } = judgement;
  const isSmall = first === undefined || first.end.timedOut || first.millis < worthwhileMs;
  if (!isCommandCheck(check) || isSmall || failing.length > mostTests || failing.includes(wholeRun)) return null;
  const command = selectTests(check.command, format, failing);
  if (command === null) return null;
  const selected = { ...check, command: [...command] };
  const run = await runCheck(selected, format, runner, trialSeconds(baseline, timeoutOf(check, runner.task)));
  const judged = judgeBaseline([run], check.expect);
  const isSame = judged.accepted && judged.failing.length === failing.length && failing.every((id) => judged.failing.includes(id));
  if (!isSame || !run.results.complete || run.end.timedOut || 2 * run.millis > first.millis) return null;
  return { check: selected, baseline: [run], judgement: judged, format, varies };
}
