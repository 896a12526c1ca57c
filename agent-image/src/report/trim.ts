import type { Run } from '@agentfleet/protocol/api';
import { cut, cutAnswer, cutPatch } from './cut.ts';
import { fewerNodes, shape } from './shape.ts';

/** Bytes of `status.run` as JSON. The whole status may have 8 KiB; the rest is the operator's. */
export const maxRunBytes = 6 * 1024;

type Reduction = (run: Run) => Run;

const patchTo =
  (max: number): Reduction =>
  (run) =>
    run.patch === undefined ? run : { ...run, patch: cutPatch(run.patch, max) };

const answerTo =
  (maxBytes: number): Reduction =>
  (run) =>
    run.answer === undefined ? run : { ...run, answer: cutAnswer(run.answer, maxBytes) };

const planTo =
  (nodes: number, intent: number): Reduction =>
  (run) =>
    run.plan === undefined
      ? run
      : { ...run, plan: fewerNodes(run.plan, nodes).map((node) => ({ ...node, intent: cut(node.intent, intent) })) };

const artifactsTo =
  (count: number): Reduction =>
  (run) =>
    run.artifacts === undefined ? run : { ...run, artifacts: run.artifacts.slice(0, count) };

const messageTo =
  (max: number): Reduction =>
  (run) => ({
    ...run,
    ...(run.outcome?.message === undefined ? {} : { outcome: { ...run.outcome, message: cut(run.outcome.message, max) } }),
    ...(run.progress?.message === undefined ? {} : { progress: { ...run.progress, message: cut(run.progress.message, max) } }),
  });

const effectsTo =
  (count: number, max: number): Reduction =>
  (run) => {
    const { irreversible, ...rollback } = run.rollback ?? { irreversible: undefined };
    if (run.rollback === undefined || irreversible === undefined) return run;
    const kept = irreversible.slice(0, count).map((effect) => cut(effect, max));
    return { ...run, rollback: { ...(rollback as typeof run.rollback), ...(kept.length === 0 ? {} : { irreversible: kept }) } };
  };

const approvalTo =
  (max: number): Reduction =>
  (run) => {
    if (run.pendingApproval === undefined) return run;
    const { evidence, question, ...rest } = run.pendingApproval;
    // The summary begins with the question: whoever answers reads that at least.
    const kept = {
      ...(evidence === undefined ? {} : { evidence: cut(evidence, max) }),
      ...(question === undefined ? {} : { question: cut(question, 2 * max) }),
    };
    return { ...run, pendingApproval: { ...rest, ...kept } };
  };

const checksTo =
  (count: number): Reduction =>
  (run) =>
    run.outcome?.checks === undefined ? run : { ...run, outcome: { ...run.outcome, checks: run.outcome.checks.slice(0, count) } };

const without =
  (field: 'patch' | 'plan' | 'signals' | 'shadow' | 'artifacts' | 'experts' | 'pendingApproval' | 'snapshots' | 'answer'): Reduction =>
  (run) => {
    const { [field]: _, ...rest } = run;
    return rest;
  };

const withoutCheckpoint: Reduction = (run) => {
  if (run.snapshots === undefined) return run;
  const { checkpointURI: _, ...snapshots } = run.snapshots;
  return { ...run, snapshots };
};

/** From what is missed least to what is missed most; how the attempt ended and what was restored come last and stay. */
const reductions: readonly Reduction[] = [
  planTo(64, 48),
  planTo(32, 48),
  patchTo(1024),
  planTo(16, 48),
  effectsTo(8, 128),
  messageTo(512),
  approvalTo(256),
  planTo(8, 32),
  patchTo(512),
  artifactsTo(8),
  messageTo(256),
  without('plan'),
  without('patch'),
  without('signals'),
  artifactsTo(4),
  effectsTo(4, 64),
  withoutCheckpoint,
  artifactsTo(2),
  answerTo(512),
  without('experts'),
  without('shadow'),
  without('artifacts'),
  approvalTo(64),
  messageTo(64),
  without('snapshots'),
  checksTo(8),
  without('answer'),
  effectsTo(0, 0),
  without('pendingApproval'),
];

function bytes(run: Run): number {
  return Buffer.byteLength(JSON.stringify(run));
}

/**
 * The run inside the API's bounds and within {@link maxRunBytes}. Attempt, epoch, the result and its reason, the usage
 * and the restored snapshot are never touched. Pure; trimming twice changes nothing more.
 */
export function trim(run: Run): Run {
  let kept = shape(run);
  for (const reduce of reductions) {
    if (bytes(kept) <= maxRunBytes) return kept;
    kept = reduce(kept);
  }
  return kept;
}
