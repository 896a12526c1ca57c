import type { Candidate } from '@agentfleet/protocol/inference';
import type { Baseline, JudgedCheck } from './baseline.ts';
import { EditMismatch, rewritesOf, type Rewrite } from './edits.ts';
import { broken, exceeds, holds, passing, prove, type Proof } from './evidence.ts';
import type { Gate, GateVerdict } from './gate.ts';
import { enter, leave, write, type SearchNode } from './node.ts';
import type { TrialResult } from './notes.ts';
import type { Scope } from './scope.ts';

/** What one candidate came to. */
export interface Trial {
  readonly result: TrialResult;
  readonly decision: GateVerdict['decision'];
  readonly why: string;
  readonly rewrites: readonly Rewrite[];
  readonly proofs: readonly Proof[];
  /** Snapshot that was taken before it, by the task's policy. */
  readonly snapshotFirst: boolean;
}

const nothing = { rewrites: [], proofs: [], snapshotFirst: false } as const;

/** Judges a candidate on the tree of a node, and leaves that tree behind, whatever the candidate did. */
export async function attemptCandidate(
  scope: Scope,
  baseline: Baseline,
  gate: Gate,
  node: SearchNode,
  candidate: Candidate,
): Promise<Trial> {
  const { hands, meter } = scope;
  meter.check();
  meter.add('candidates');
  const rewrites = await readable(candidate, (path) => hands.read(path));
  if (typeof rewrites === 'string') return { result: 'Unusable', decision: 'Deny', why: rewrites, ...nothing };
  const verdict = gate.judge(rewrites);
  if (!verdict.allowed) {
    meter.add('vetoes');
    return { result: 'Denied', decision: verdict.decision, why: verdict.why, ...nothing };
  }
  await snapshotBefore(scope, node, verdict);
  const { result, why, proofs } = await tryTwice(scope, baseline, node, rewrites);
  return { result, why, proofs, rewrites, decision: verdict.decision, snapshotFirst: verdict.snapshotFirst };
}

async function readable(candidate: Candidate, read: Parameters<typeof rewritesOf>[1]): Promise<readonly Rewrite[] | string> {
  try {
    return await rewritesOf(candidate.edits, read);
  } catch (error) {
    if (error instanceof EditMismatch) return error.message;
    throw error;
  }
}

/** The tree is that of the node, so a snapshot is needed only where the node has none, or the task wants one per step. */
async function snapshotBefore({ context, hands }: Scope, node: SearchNode, { snapshotFirst }: GateVerdict): Promise<void> {
  const { policy } = context.task.spec.snapshots;
  if (policy === 'InitialOnly') return;
  if (policy === 'EveryStep' || (snapshotFirst && node.snapshot === null)) await hands.snapshot(`before ${node.planId}`);
}

type Judged = Pick<Trial, 'result' | 'why' | 'proofs'>;

/** A run that the loss of the tools container cut off is repeated once; a candidate that takes it away twice is to blame. */
async function tryTwice(scope: Scope, baseline: Baseline, node: SearchNode, rewrites: readonly Rewrite[]): Promise<Judged> {
  const first = await tryOnce(scope, baseline, node, rewrites);
  if (first.result !== 'Crashed') return first;
  return tryOnce(scope, baseline, node, rewrites);
}

async function tryOnce(scope: Scope, baseline: Baseline, node: SearchNode, rewrites: readonly Rewrite[]): Promise<Judged> {
  scope.progress.revoke('TreeClean');
  await write(scope, rewrites);
  const judged = await judge(baseline, node);
  const suspect = judged.proofs.some(
    ({ run: { end } }) => end.timedOut || end.killed !== null || end.exitCode === null || end.interrupted !== undefined,
  );
  if (judged.result === 'Crashed')
    await scope.hands.until(({ ready }) => ready, 60_000, 'ToolsLost', 'the tools container did not come back');
  if (judged.result === 'Crashed' || judged.result === 'Better' || judged.result === 'Reached') await enter(scope, node);
  else await leave(scope, node, rewrites, suspect);
  return judged;
}

/** The checks that fail at the baseline first, the fastest first; then, when these are better, all the others. */
async function judge(baseline: Baseline, { passing: before }: SearchNode): Promise<Judged> {
  const fails = ({ judgement }: JudgedCheck): boolean => judgement.failing.length > 0;
  const byTime = baseline.checks.toSorted((a, b) => (a.baseline[0]?.millis ?? 0) - (b.baseline[0]?.millis ?? 0));
  const proofs: Proof[] = [];
  for (const judged of byTime.filter(fails)) {
    const worse = await add(proofs, judged, baseline);
    if (worse !== null) return { ...worse, proofs };
  }
  const now = passing(proofs);
  if (!exceeds(now, before))
    return { result: [...before].every((id) => now.has(id)) ? 'Equal' : 'Worse', why: 'no further test passes', proofs };
  for (const judged of byTime.filter((one) => !fails(one))) {
    const worse = await add(proofs, judged, baseline);
    if (worse !== null) return { ...worse, proofs };
  }
  if (proofs.every(holds)) return { result: 'Reached', why: 'all checks hold', proofs };
  return { result: 'Better', why: `${now.size} tests pass that failed`, proofs };
}

async function add(proofs: Proof[], judged: JudgedCheck, baseline: Baseline): Promise<Omit<Judged, 'proofs'> | null> {
  const proof = await prove(judged, baseline);
  proofs.push(proof);
  const reason = broken(proof);
  if (reason === null) return null;
  return { result: reason.code === 'Interrupted' ? 'Crashed' : 'Worse', why: reason.message };
}
