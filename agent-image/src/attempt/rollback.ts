import type { Run } from '@agentfleet/protocol/api';
import { type SnapshotRecord, rollbackLabel } from '@agentfleet/protocol/keeper';
import { AttemptFailure, retryWhileUnavailable, throwIfSuperseded } from '../base/failure.ts';
import { labelled, labels } from './prepare.ts';
import { deadline } from '@agentfleet/kube';
import { KeeperRefusal } from '@agentfleet/keeper/client';
import { auditRoot, keep, lateMs, patch, revertScript, trace, withoutFiles, type Keeping } from './artifacts.ts';
import { takeBackEffects } from './acts.ts';
import { summary } from './closing.ts';
import { createGate } from './gate.ts';
import { SandboxSession } from './sandboxSession.ts';
import { Meter } from './meter.ts';
import { NoteReader } from './notes.ts';
import type { AttemptContext, Restored } from './ports.ts';
import type { EngineOptions } from './scope.ts';

/**
 * A sandbox that lacks the initial snapshot that was reported is not the one that the task was worked on in: its volume was
 * lost or replaced by an empty one. To go back there to "nothing" would be called a restore and be none.
 * @throws AttemptFailure of class Infrastructure
 */
export function assertSnapshotsThere(reported: Run['snapshots'], there: readonly SnapshotRecord[]): void {
  if (reported?.initial === undefined || labelled(there, labels.initial) !== undefined) return;
  const why = `snapshot ${reported.initial} of the task was reported, and its sandbox, which has ${there.length} snapshots, lacks it`;
  const cure = 'bring back the volume or the checkpoints of the pool; nothing was restored';
  throw new AttemptFailure('Infrastructure', 'SnapshotsLost', `${why}; ${cure}`);
}

/** Snapshot that is put back, and the tree that it replaces. */
interface Plan {
  readonly target: SnapshotRecord;
  /** The tree as the agent left it; a sandbox that cannot keep it any more is put back without. */
  readonly before: SnapshotRecord | Unkept;
  readonly initial: SnapshotRecord | undefined;
  readonly green: string | undefined;
}

interface Unkept {
  readonly id?: undefined;
  readonly why: string;
}

/**
 * Restores a snapshot, verified by hash. The tree as it was is kept as a snapshot first, so that the revert script and the
 * patch can be made after the restore, and a rollback that was cut off ends the same way.
 */
export async function rollBack(
  { rails, openEgress }: Pick<EngineOptions, 'rails' | 'openEgress'>,
  context: AttemptContext,
  which: 'Initial' | 'LastGreen',
): Promise<Restored> {
  const meter = new Meter(context.clock, context.used, {});
  const info = await retryWhileUnavailable(() => context.keeper.info(), context);
  const session = new SandboxSession(context, meter, info, openEgress);
  await session.quieten();
  context.report({ progress: { done: 0, total: 1, message: 'rolling back' } });
  const plan = await planOf(context, session, which);
  const gate = createGate({ rails, task: context.task, session }, null);
  const standing = await takeBackEffects(context, session, gate);
  const report = await session.restore(plan.target.id);
  const verified = report.verified && report.manifestDigest === plan.target.manifestDigest;
  await noteRollback(context, session, { snapshot: plan.target.id, verified, ...('why' in plan.before && { unkept: plan.before.why }) });
  const lost = await storeFiles(context, plan);
  context.report({ progress: { done: 1, total: 1, message: `rolled back${lost}` }, usage: meter.usage() });
  const irreversible = [...standing, ...lostOf(plan.before)];
  return {
    snapshot: plan.target.id,
    verified,
    manifestDigest: report.manifestDigest,
    ...(irreversible.length > 0 && { irreversible }),
  };
}

async function planOf({ assignment, task }: AttemptContext, session: SandboxSession, which: 'Initial' | 'LastGreen'): Promise<Plan> {
  const notes = new NoteReader();
  await session.events(notes.visit);
  const snapshots = await session.snapshots();
  assertSnapshotsThere(task.status?.run?.snapshots, snapshots);
  const initial = labelled(snapshots, labels.initial);
  const green = notes.noted.green.findLast((id) => snapshots.some((one) => one.id === id));
  const wanted = which === 'LastGreen' ? snapshots.find(({ id }) => id === green) : undefined;
  // Nothing of ours was in the tree before `empty`: without any snapshot it is as it was.
  const target = wanted ?? initial ?? labelled(snapshots, labels.empty) ?? (await session.snapshot(labels.empty));
  const label = `${rollbackLabel} ${assignment.attempt}`;
  const before = labelled(snapshots, label) ?? (await session.snapshot(label).catch(unlessUnable));
  return { target, before, initial, green };
}

/** To go back needs no room, and must not depend on what does. */
function unlessUnable(error: unknown): Unkept {
  throwIfSuperseded(error);
  if (error instanceof KeeperRefusal && error.status >= 500) return { why: error.message };
  throw error;
}

/** Lists what no restore brings back. */
function lostOf(before: Plan['before']): readonly string[] {
  if (before.id === undefined) return [`what was changed last could not be kept before it was taken back: ${before.why}`];
  return before.skipped.map(({ path, kind }) => `${kind} ${path} is in no snapshot`);
}

/** The tree is back and verified: a store without room for a note changes nothing about that. */
async function noteRollback(
  { assignment, log }: AttemptContext,
  session: SandboxSession,
  facts: Readonly<Record<string, unknown>>,
): Promise<void> {
  try {
    await session.note('RolledBack', { attempt: assignment.attempt, ...facts });
  } catch (error) {
    if (!(error instanceof KeeperRefusal) || error.code !== 'AF_STORE_FULL') throw error;
    log.warn('a rollback could not be noted in the event log', { error: error.message });
  }
}

const late = '; its files could not be stored within a minute';

/** Stores the record of what was undone; returns what of it could not be stored, for people: `''` when all could. */
async function storeFiles(context: AttemptContext, { target, before, initial, green }: Plan): Promise<string> {
  // The restore is done and must be reported.
  using limit = deadline(context.clock, lateMs, context.signal);
  const keeping: Keeping = { context, signal: limit.signal };
  const from = initial?.id ?? target.id;
  const changed = before.id === undefined ? [] : [patch(keeping, from, before.id), revertScript(keeping, from, before.id)];
  const files = [...changed, trace(keeping)];
  try {
    const root = await auditRoot(keeping);
    const snapshots = await summary(keeping, { ...(green !== undefined && { green }) });
    const kept = await keep(keeping, files);
    const names = new Set(kept.artifacts.map(({ name }) => name));
    const { run } = context.task.status ?? {};
    const earlier = run?.attempt === context.assignment.attempt ? (run.artifacts ?? []) : [];
    const artifacts = [...earlier.filter(({ name }) => !names.has(name)), ...kept.artifacts];
    context.report({ artifacts, auditRoot: root, snapshots });
    return kept.artifacts.length + kept.leftOut.length === files.length ? withoutFiles(kept) : late;
  } catch (error) {
    context.signal.throwIfAborted();
    throwIfSuperseded(error);
    context.log.warn('the files of a rollback could not be stored', { error: error instanceof Error ? error.message : String(error) });
    return late;
  }
}
