import type { SnapshotRecord } from '@agentfleet/protocol/keeper';
import type { Baseline } from './baseline.ts';
import { changesBetween } from './changes.ts';
import { broken, holds, prove, type Proof } from './evidence.ts';
import { AttemptFailure } from './failure.ts';
import { labels, type Prepared } from './prepare.ts';
import type { TriedNote } from './notes.ts';
import type { Winner } from './repair.ts';
import type { Scope } from './scope.ts';

/**
 * Proves the result where nothing of the search is left: the tools container is replaced, the tree restored by hash,
 * what was changed is judged, and every check runs whole.
 *
 * @param winner null when the checks held at snapshot 0 already
 * @param proofs gets what each check said, also when the result is refused
 * @throws AttemptFailure PolicyViolation for a change that is not the agent's to make, CheckFailed when a check does not hold
 */
export async function verify(
  scope: Scope,
  prepared: Prepared,
  baseline: Baseline,
  winner: Winner | null,
  proofs: Proof[],
): Promise<SnapshotRecord> {
  const { context, hands, progress } = scope;
  progress.begin('verify', 'verifying: taking a snapshot of the result');
  const result = await hands.snapshot(labels.result);
  progress.say('verifying: waiting for a fresh tools container', { urgent: true });
  await hands.freshTools();
  const restored = await hands.restore(result.id);
  if (restored.manifestDigest !== result.manifestDigest) throw differs(result.id);
  const discard = await judgeResult(scope, prepared, baseline, result);
  for (const judged of baseline.checks) {
    progress.say(`verifying: check ${judged.check.name}`, { urgent: true });
    // Code under test can write: no check sees what ran in the one before it left behind.
    if (proofs.length > 0) await hands.restore(result.id);
    await hands.remove(discard);
    proofs.push(await proveAgain(judged, baseline));
  }
  await hands.restore(result.id);
  const failed = proofs.find((proof) => !holds(proof));
  if (failed !== undefined) throw await notProved(scope, winner, failed);
  await hands.note('Green', { attempt: context.assignment.attempt, snapshot: result.id, digest: result.manifestDigest });
  progress.establish('Verified');
  progress.finish('verify', { snapshot: result.id });
  return result;
}

/** The loss of the container is not the result's fault the first time. */
async function proveAgain(judged: Baseline['checks'][number], baseline: Baseline): Promise<Proof> {
  const first = await prove(judged, baseline);
  return broken(first)?.code === 'Interrupted' ? prove(judged, baseline) : first;
}

function differs(id: string): AttemptFailure {
  return new AttemptFailure(
    'Infrastructure',
    'RestoreNotVerified',
    `snapshot ${id} was restored to another digest; the sandbox is replaced`,
  );
}

/** Judges what the attempt changed, and says what checks made and has to go before they run. */
async function judgeResult(
  { hands }: Scope,
  { initial }: Prepared,
  { protectedSet }: Baseline,
  result: SnapshotRecord,
): Promise<readonly string[]> {
  const { violations, discard } = await changesBetween(hands, protectedSet, initial.id, result.id);
  const [first] = violations;
  if (first === undefined) return discard;
  const more = violations.length > 1 ? ` (and ${violations.length - 1} more)` : '';
  throw new AttemptFailure('PolicyViolation', first.code, `${first.message}; ${first.cure}${more}`);
}

async function notProved({ context, hands }: Scope, winner: Winner | null, failed: Proof): Promise<AttemptFailure> {
  const reason = broken(failed) ?? failed.verdict.reasons[0];
  const { verdict } = failed;
  const infrastructure = reason?.code === 'Interrupted';
  if (winner !== null && winner.candidate !== null && !infrastructure) {
    const { candidate, from } = winner;
    const note: TriedNote = {
      attempt: context.assignment.attempt,
      state: from.state,
      step: from.asked,
      id: candidate.id,
      operator: candidate.operator,
      location: `${candidate.location.path}:${candidate.location.line}`,
      decision: 'Allow',
      result: 'NotVerified',
    };
    await hands.note('Tried', { ...note });
  }
  const why =
    reason === undefined
      ? `check ${failed.judged.check.name}: ${verdict.stillFailing.slice(0, 3).join(', ')} still fail`
      : `${reason.message}; ${reason.cure}`;
  return new AttemptFailure(
    infrastructure ? 'Infrastructure' : 'CheckFailed',
    reason?.code ?? 'StillFails',
    `in a fresh container, ${why}`,
  );
}
