import { createHash } from 'node:crypto';
import type { Check } from '@agentfleet/protocol/api';
import type { SnapshotRecord } from '@agentfleet/protocol/keeper';
import { parseResults } from '../checks/index.ts';
import { canonicalJson } from './acts/canonical.ts';
import { keep, patch, shownPatch } from './artifacts.ts';
import { shownAnswer } from './answer.ts';
import type { Ran } from './checkRun.ts';
import { AttemptFailure } from './failure.ts';
import { patiently } from './patience.ts';
import type { Prepared } from './prepare.ts';
import type { Scope } from './scope.ts';

/** Reason of a failure after which the model may try again: a person said what is wrong. */
export const reviewRejected = 'ReviewRejected';

/** What a person is asked about. */
export interface Reviewed {
  readonly prepared: Prepared;
  readonly result: SnapshotRecord;
  /** Paths that were changed. */
  readonly paths: readonly string[];
  readonly answer: string | undefined;
}

/**
 * Asks a person to accept the result, with the change as evidence; the clocks of the task stand still. Each tree is asked
 * about once: what was said of it holds for every worker and attempt.
 *
 * @throws AttemptFailure ApprovalRejected, by a person with what they say, or because nobody answered in time
 */
export async function review(scope: Scope, check: Check, about: Reviewed): Promise<Ran> {
  const { approvals, context } = scope;
  const { paths, result } = about;
  const named = paths.slice(0, 5).join(', ');
  const files = paths.length === 1 ? '1 path' : `${paths.length} paths`;
  const summary = `accept the result of the task (check ${check.name}): ${files} changed${named === '' ? '' : `: ${named}`}`;
  const action = reviewDigest(context.task.metadata.uid ?? '', check.name, result.manifestDigest);
  const evidence = await showEvidence(scope, about);
  const { decision, by, why, timedOut = false } = await approvals.ask({ action, kind: 'Review', summary, evidence });
  if (decision === 'Approved') return ran(check, 0, `accepted ${by}`);
  const said = why === undefined ? '' : `: ${why}`;
  const cure = timedOut ? 'review the result in time, or raise spec.policy.approvals.timeoutSeconds' : 'do what the person asks for';
  const message = `check ${check.name}: the result was not accepted ${by}${said}; ${cure}`;
  throw new AttemptFailure('ApprovalRejected', timedOut ? 'ReviewTimedOut' : reviewRejected, message);
}

/** Names a review: one result of one task. */
export function reviewDigest(task: string, review: string, tree: string): string {
  return `sha256:${createHash('sha256').update(canonicalJson({ task, review, tree })).digest('hex')}`;
}

/** Stores the whole change, so that it can be read before anything is decided; returns its beginning. */
async function showEvidence({ context }: Scope, { prepared, result, answer }: Reviewed): Promise<string> {
  const keeping = { context, signal: context.signal };
  const { unified } = await patiently(() => context.keeper.diff(prepared.initial.id, result.id), context);
  const shown = shownPatch(unified);
  const artifacts = await keep(keeping, [patch(keeping, prepared.initial.id, result.id)]);
  context.signal.throwIfAborted();
  const words = answer === undefined ? {} : { answer: shownAnswer(answer) };
  context.report({ patch: shown, artifacts: [...artifacts], ...words });
  return shown;
}

/** A review as a run, for results and reports. */
function ran({ name }: Check, exitCode: number, output: string): Ran {
  const end = { exitCode, signal: null, timedOut: false, killed: null, oom: false };
  return { check: name, end, results: parseResults('Exit', { exitCode, stdout: output, stderr: '' }), output, millis: 0 };
}
