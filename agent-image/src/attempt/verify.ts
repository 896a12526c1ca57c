import { changesBetween, mayBeFolder, refusalOf } from './acts.ts';
import { newExecId } from '@agentfleet/keeper/client';
import type { DiffEntry, SnapshotRecord } from '@agentfleet/protocol/keeper';
import { isArtifactCheck } from '@agentfleet/protocol/api';
import { type Baseline, broken, contradiction, flakyCheck, holds, isFolder, proveAgain, runAgain, tail, type Proof } from './checkRun.ts';
import { type Ledger, review } from './closing.ts';
import { AttemptFailure } from '../base/failure.ts';
import { foldersAbove, leavesOf } from '../base/paths.ts';
import type { Prepared, Scope, Winner } from './scope.ts';
import { labels } from './prepare.ts';

/** A result on which all checks hold in a fresh container. */
export interface Verified {
  readonly result: SnapshotRecord;
  /** Something was changed that is not only made by running the checks. */
  readonly changed: boolean;
  /** Paths that only the checks make. */
  readonly discard: readonly string[];
  /** A person accepted it, or several did. */
  readonly reviewed: boolean;
}

/**
 * Proves the result where nothing of the search is left: the tools container is replaced, the tree restored by hash,
 * what was changed is judged, every check runs whole, and then people are asked who have to accept it.
 *
 * @param winner null when no candidate was searched for
 * @param ledger gets what each check and person said, also when the result is refused
 * @throws AttemptFailure PolicyViolation for a change that is not the agent's to make, CheckFailed when a check does not hold,
 * ApprovalRejected when a person does not accept it
 */
export async function verify(
  scope: Scope,
  prepared: Prepared,
  baseline: Baseline,
  winner: Winner | null,
  ledger: Pick<Ledger, 'proofs' | 'reviews' | 'answer'>,
): Promise<Verified> {
  const { context, session, progress } = scope;
  const { proofs, reviews, answer } = ledger;
  progress.begin('verify', 'verifying: taking a snapshot of the result');
  const result = await session.snapshot(labels.result);
  progress.say('verifying: waiting for a fresh tools container');
  await session.freshTools();
  const restored = await session.restore(result.id);
  if (restored.manifestDigest !== result.manifestDigest) throw differs(result.id);
  const judgement = await judgeResult(scope, prepared, baseline, result);
  const { discard, paths } = judgement;
  const fell = await proveAll(
    scope,
    baseline,
    { result: result.id, ...(await startOfChecks(scope, prepared, baseline, judgement, result)) },
    proofs,
  );
  if (fell !== null) throw await flaky(scope, { fell, winner }, prepared, baseline, result);
  await session.restore(result.id);
  const failed = proofs.find((proof) => !holds(proof));
  if (failed !== undefined) throw await notProved(scope, winner, failed, judgement, baseline);
  // A change that is not there cannot be accepted.
  const asked = paths.length > 0 ? baseline.reviews : [];
  for (const check of asked)
    reviews.push(await review(scope, check, { prepared, result, paths, derived: baseline.protectedSet.derived, answer }));
  await session.note('Green', { attempt: context.assignment.attempt, snapshot: result.id, digest: result.manifestDigest });
  progress.establish('Verified');
  progress.finish('verify');
  return { result, changed: paths.length > 0, discard, reviewed: asked.length > 0 };
}

/** Snapshot that checks begin with, and the paths that have to go from it first. */
interface Start {
  readonly base: string;
  readonly gone: readonly string[];
}

/** Runs every check; returns the first proof that does not agree with another of the same check, null where all do. */
async function proveAll(
  { session, progress }: Scope,
  baseline: Baseline,
  { result, base, gone }: Start & { readonly result: string },
  proofs: Proof[],
): Promise<Proof | null> {
  const putBack = (): Promise<void> => session.restore(base).then(() => session.remove(gone));
  let at: string | null = base;
  for (const judged of baseline.checks) {
    progress.say(`verifying: check ${judged.check.name}`);
    // Code under test can write: no check sees what ran in the one before it left behind.
    const looks = isArtifactCheck(judged.check);
    if (!looks) await (at === base ? session.remove(gone) : putBack());
    else if (at !== result) await session.restore(result);
    at = looks ? result : null;
    const proof = await proveAgain(judged, baseline);
    proofs.push(proof);
    const fell = await contradiction(proof, baseline, putBack);
    if (fell !== null) return fell;
  }
  return null;
}

/**
 * Returns the start of checks: snapshot 0 with the changes where set-up made build folders. These folders are then as set-up made them, whatever was
 * written there, and the changed files are newer than what was built from others.
 */
async function startOfChecks(
  { session }: Scope,
  { initial }: Prepared,
  { protectedSet }: Baseline,
  { discard, aside, own, empty }: Awaited<ReturnType<typeof judgeResult>>,
  result: SnapshotRecord,
): Promise<Start> {
  // Tests of the agent's own prove nothing, and could act on those that do.
  if (protectedSet.configured.length === 0)
    return { base: result.id, gone: [...discard, ...aside, ...empty].map((path) => session.located(path)) };
  const archive = `/tmp/${newExecId()}.tar`;
  const kept = own.filter(({ op, path }) => op !== 'D' && !aside.includes(path) && !empty.includes(path)).map(({ path }) => `./${path}\n`);
  try {
    if (kept.length > 0) await tar(session, ['-c', '--no-recursion', '-T', '-', '-f', archive], kept.join(''));
    await session.restore(initial.id);
    await session.remove(own.filter(({ op }) => op === 'D' || op === 'T').map(({ path }) => path));
    if (kept.length > 0) await tar(session, ['-x', '-m', '-p', '-f', archive]);
    await session.remove([archive]);
    return { base: (await session.snapshot(labels.proof)).id, gone: [] };
  } catch (error) {
    if (error instanceof AttemptFailure && error.reason === 'NotRunnable') await session.restore(result.id);
    throw error;
  }
}

async function tar(session: Scope['session'], options: readonly string[], stdin?: string): Promise<void> {
  const { end, stderr } = await session.ask({ argv: ['tar', ...options], timeoutSeconds: 300, ...(stdin !== undefined && { stdin }) });
  if (end.exitCode === 0) return;
  const why = tail(end.error?.message ?? (stderr.trim() || `exit status ${end.exitCode ?? 'unknown'}`), 300);
  const message = `the change cannot be put beside the build folder of set-up (tar: ${why}); install tar in the image, or leave the build to the checks`;
  throw new AttemptFailure('InvalidInput', 'NotRunnable', message);
}

/** Finds out whether the check or the change gives two results; the tree is that of the result again. */
async function flaky(
  scope: Scope,
  { fell, winner }: { readonly fell: Proof; readonly winner: Winner | null },
  { initial }: Prepared,
  { runner }: Baseline,
  result: SnapshotRecord,
): Promise<AttemptFailure> {
  const { session, progress } = scope;
  const { judged } = fell;
  progress.say(`check ${judged.check.name} gave two results: running it at snapshot 0 again`);
  await session.restore(initial.id);
  const again = await runAgain(judged, runner, []);
  await session.restore(result.id);
  await noteNotVerified(scope, winner);
  return flakyCheck(fell, [...judged.baseline, ...again]);
}

function differs(id: string): AttemptFailure {
  return new AttemptFailure(
    'Infrastructure',
    'RestoreNotVerified',
    `snapshot ${id} was restored to another digest; the sandbox is replaced`,
  );
}

/** Judges what the attempt changed: which paths, and what checks made and has to go before they run. */
async function judgeResult({ session }: Scope, { initial }: Prepared, { protectedSet }: Baseline, result: SnapshotRecord) {
  const { violations, discard, aside, entries } = await changesBetween(session, protectedSet, initial.id, result.id, true);
  const refused = refusalOf({ violations });
  if (refused === null) {
    const own = entries.flatMap((entry) => {
      const path = session.relative(entry.path);
      return path === null || protectedSet.derived(path) ? [] : [{ ...entry, path }];
    });
    const paths = leavesOf(own.map(({ path }) => path));
    return { discard, aside, own, paths, empty: protectedSet.leftOut === undefined ? [] : await emptyFolders(session, own, paths) };
  }
  throw new AttemptFailure('PolicyViolation', refused.code, refused.message);
}

/** New folders without a file that stays: no commit holds them. */
async function emptyFolders(
  session: Pick<Scope['session'], 'call' | 'absolute'>,
  own: readonly DiffEntry[],
  leaves: readonly string[],
): Promise<readonly string[]> {
  const added = own.filter((entry) => mayBeFolder(entry) && !/^\.git(?:\/|$)/.test(entry.path));
  const [isLeaf, empty] = [new Set(leaves), new Set<string>()];
  for (const { path } of added) if (isLeaf.has(path) && (await isFolder(session, session.absolute(path)))) empty.add(path);
  const above = foldersAbove(leaves.filter((path) => !empty.has(path)));
  const folders = foldersAbove(empty);
  return added.map(({ path }) => path).filter((path) => empty.has(path) || (folders.has(path) && !above.has(path)));
}

async function notProved(
  scope: Scope,
  winner: Winner | null,
  failed: Proof,
  { aside, discard, empty }: Pick<Awaited<ReturnType<typeof judgeResult>>, 'aside' | 'discard' | 'empty'>,
  { protectedSet }: Baseline,
): Promise<AttemptFailure> {
  const reason = broken(failed) ?? failed.verdict.reasons[0];
  const { verdict, judged, run } = failed;
  const infrastructure = reason?.code === 'Interrupted';
  if (!infrastructure) await noteNotVerified(scope, winner);
  const why = isArtifactCheck(judged.check)
    ? `check ${judged.check.name}: ${run.output}`
    : reason === undefined
      ? `check ${failed.judged.check.name}: ${verdict.stillFailing.slice(0, 3).join(', ')} still fail; where the goal does not ask for that, set expect: NoRegression`
      : `${reason.message}; ${reason.cure}`;
  const leftOut = [...discard.filter((path) => protectedSet.leftOut?.(path) === true), ...empty];
  const named = (what: string, paths: readonly string[]): string =>
    paths.length === 0 ? '' : ` without ${what} (${paths.slice(0, 3).join(', ')})`;
  const without = `${named('the new tests', aside)}${named('what the repository leaves out of commits', leftOut)}`;
  return new AttemptFailure(
    infrastructure ? 'Infrastructure' : 'CheckFailed',
    reason?.code ?? 'StillFails',
    `in a fresh container${without}, ${why}`,
  );
}

/** A later attempt does not try the same step again. */
async function noteNotVerified({ session }: Scope, winner: Winner | null): Promise<void> {
  if (winner?.ifNotVerified !== undefined) await session.note('Tried', { ...winner.ifNotVerified });
}
