import type { AgentTaskStatus, SandboxStorage, Reason } from '@agentfleet/protocol/api';
import { findCondition } from '@agentfleet/kube';
import type { ConditionValue, PersistentVolumeClaim, VolumeSnapshot } from '../../../runtime/resources.ts';
import {
  conditionValue as say,
  retentionOf,
  type ClaimChoice,
  type Transition,
  type Action,
  type StorageView,
  type DesiredStatus,
  type Facts,
} from '../facts/snapshot.ts';
import { sandboxName } from '../sandbox/template.ts';

/** Ms after which a volume that is not bound, or a snapshot that is not ready, is reported with a cure. */
const storageTimeoutMs = { bind: 60_000, snapshot: 120_000 } as const;

/** Ms after which a snapshot that cannot be taken is tried again. Changes of volumes and snapshots wake the task. */
const retryMs = 30_000;

/** Plan for the volume of a task. */
export interface StoragePlan {
  readonly held: AgentTaskStatus['storage'];
  /** The condition StorageReady; undefined: it stays as it is. */
  readonly conditionValue: ConditionValue | undefined;
  readonly actions: readonly Action[];
  /** Ms after which it is looked at again. */
  readonly againMs: number | undefined;
}

const nothing: StoragePlan = { held: undefined, conditionValue: undefined, actions: [], againMs: undefined };

/** Volumes that can be worked on, the oldest first. */
function usable({ claims }: StorageView): readonly PersistentVolumeClaim[] {
  return claims.filter(({ metadata }) => metadata.deletionTimestamp === undefined);
}

/** The volume of a new sandbox: the one that is there, one from the snapshot that took its place, or an empty one. */
export function claimFor({ snapshot, status, spec }: Facts, name: string): ClaimChoice | undefined {
  const view = snapshot.storage;
  if (spec.sandbox?.storage === undefined || view === undefined) return undefined;
  const there = usable(view).at(-1);
  if (there !== undefined) return { kind: 'Held', name: there.metadata.name };
  const { claim, volumeSnapshot } = status.storage ?? {};
  // One that was lost at work is not replaced by an older state: the worker knows a newer checkpoint.
  const source = claim === undefined ? view.snapshots?.find(({ metadata }) => metadata.name === volumeSnapshot) : undefined;
  if (source?.status?.readyToUse !== true || source.metadata.deletionTimestamp !== undefined) return { kind: 'Create', name };
  return { kind: 'Restore', name, snapshot: source.metadata.name };
}

/** Decides what becomes of the volume with a course. Pure. */
export function storagePlan(facts: Facts, transition: Transition): StoragePlan {
  const { spec, status, snapshot } = facts;
  const storage = spec.sandbox?.storage;
  const view = snapshot.storage;
  if (storage === undefined || view === undefined) return { ...nothing, held: status.storage };
  if (transition.kind === 'Bind' && transition.sandbox.kind === 'Create') return begins(facts, transition.sandbox.claim);
  const over = transition.kind === 'End' || transition.kind === 'Ended';
  const rests = transition.kind === 'Suspend' && transition.rest === 'NoSandbox' && facts.atRest;
  if ((over || rests) && snapshot.pods.length === 0) return settles(facts, storage, view, over ? endOf(facts, transition) : undefined);
  return works(facts, storage, view);
}

function begins({ status }: Facts, claim: ClaimChoice | undefined): StoragePlan {
  if (claim === undefined) return { ...nothing, held: status.storage };
  const { volumeSnapshot } = status.storage ?? {};
  const held = { claim: claim.name, ...(volumeSnapshot === undefined ? {} : { volumeSnapshot }) };
  const conditionValue =
    claim.kind === 'Restore'
      ? say('False', 'Restoring', `volume ${claim.name} is made from VolumeSnapshot ${claim.snapshot}`)
      : say('False', 'Provisioning', `the sandbox waits for volume ${claim.name}`);
  return { ...nothing, held, conditionValue };
}

/** While a sandbox works on it, or is about to. */
function works({ status, now }: Facts, { storageClassName }: SandboxStorage, view: StorageView): StoragePlan {
  const [claim] = usable(view).slice(-1);
  if (claim === undefined) {
    const { fault } = view;
    return {
      ...nothing,
      held: status.storage,
      conditionValue: fault === undefined ? undefined : say('False', fault.reason, fault.message),
    };
  }
  const { name, creationTimestamp } = claim.metadata;
  const held = { ...status.storage, claim: name };
  // One that was begun when the task was suspended would now show a tree at work.
  const actions = others(held.volumeSnapshot, view);
  if (claim.status?.phase === 'Bound')
    return { ...nothing, held, actions, conditionValue: say('True', 'Bound', `volume ${name} is bound`) };
  if (claim.status?.phase === 'Lost') {
    const message = `volume ${name} has lost its PersistentVolume; delete the claim, and the task goes on from its newest checkpoint`;
    return { ...nothing, held, actions, conditionValue: say('False', 'VolumeLost', message) };
  }
  const lateMs = Date.parse(creationTimestamp ?? '') + storageTimeoutMs.bind - now;
  const late = lateMs <= 0;
  const message = late
    ? `volume ${name} is not bound after ${storageTimeoutMs.bind / 1000} s; look at the events of PersistentVolumeClaim ${name} and at the provisioner of StorageClass ${storageClassName}`
    : `the sandbox waits for volume ${name}`;
  const conditionValue = say('False', late ? 'VolumeNotBound' : 'Provisioning', message);
  return { ...nothing, held, actions, conditionValue, againMs: late ? undefined : lateMs };
}

/** The end of a task as far as its volume is concerned. */
interface EndOfTask {
  readonly discarded: boolean;
  /** Ms since the epoch at which nothing is kept any more. */
  readonly keptUntil: number;
}

function endOf({ status, snapshot, now }: Facts, transition: Transition): EndOfTask {
  const undone = transition.kind === 'End' ? transition.undone?.reason : findCondition(status.conditions, 'RolledBack')?.reason;
  const at = Date.parse(findCondition(status.conditions, 'Finished')?.lastTransitionTime ?? '');
  const ended = transition.kind === 'End' || Number.isNaN(at) ? now : at;
  return { discarded: undone === 'Discarded', keptUntil: ended + retentionOf(snapshot).snapshotsSeconds * 1000 };
}

/** Plans a volume without pods: it becomes a snapshot where there is a class for that, and is deleted at the end where there is none. */
function settles(facts: Facts, storage: SandboxStorage, view: StorageView, end: EndOfTask | undefined): StoragePlan {
  const { status, now } = facts;
  const [claim] = usable(view).slice(-1);
  const over = end !== undefined && (end.discarded || now >= end.keptUntil);
  if (over || (end !== undefined && storage.volumeSnapshotClassName === undefined)) return clears(facts, view);
  const againMs = end === undefined ? undefined : end.keptUntil - now;
  if (claim === undefined) {
    const { volumeSnapshot } = status.storage ?? {};
    return volumeSnapshot === undefined
      ? { ...nothing, againMs }
      : { ...nothing, againMs, held: { volumeSnapshot }, actions: others(volumeSnapshot, view) };
  }
  if (storage.volumeSnapshotClassName === undefined) {
    const { name } = claim.metadata;
    return { ...nothing, held: { claim: name }, conditionValue: say('True', 'Kept', `volume ${name} holds what the task goes on with`) };
  }
  const plan = snapshots(facts, claim, view);
  return { ...plan, againMs: Math.min(plan.againMs ?? Infinity, againMs ?? Infinity) };
}

/** Deletes all that is there, and forgets it only then: a crash in between must find it again. */
function clears({ status }: Facts, view: StorageView): StoragePlan {
  const claims = usable(view);
  const snapshots = (view.snapshots ?? []).filter(({ metadata }) => metadata.deletionTimestamp === undefined);
  const conditionValue = say('False', 'Deleted', 'the volume of the sandbox and its snapshots are deleted');
  if (claims.length + snapshots.length === 0) return { ...nothing, conditionValue };
  const [claim] = claims;
  const held = status.storage ?? (claim === undefined ? undefined : { claim: claim.metadata.name });
  const actions: Action[] = [
    ...claims.map((claim): Action => ({ type: 'deleteClaim', claim })),
    ...snapshots.map((snapshot): Action => ({ type: 'deleteSnapshot', snapshot })),
  ];
  return { ...nothing, held, conditionValue, actions };
}

/** Takes a snapshot of a volume at rest, waits for it, and lets the volume go. What fails keeps the volume. */
function snapshots(facts: Facts, claim: PersistentVolumeClaim, view: StorageView): StoragePlan {
  const { status, task, assignment, now, snapshot: seen } = facts;
  const name = sandboxName(task.metadata.name, assignment?.epoch ?? 0);
  const held = { ...status.storage, claim: claim.metadata.name };
  const fails = (reason: Reason, why: string, againMs?: number): StoragePlan => {
    const message = `${why}; volume ${claim.metadata.name} is kept instead, and the task goes on with it`;
    return { ...nothing, held, conditionValue: say('False', reason, message), againMs };
  };
  const taken = view.snapshots?.find(({ metadata }) => metadata.name === name);
  if (taken?.status?.readyToUse === true) return replaces(name, view);
  if (view.snapshots === undefined)
    return fails(
      'SnapshotsNotInstalled',
      'the cluster does not know VolumeSnapshots any more; install the CSI snapshot controller',
      retryMs,
    );
  if (taken === undefined && seen.refusal !== undefined)
    return fails('SnapshotFailed', `the API server does not take VolumeSnapshot ${name}: ${seen.refusal}`, retryMs);
  const trouble = taken === undefined ? undefined : snapshotTrouble(taken, now);
  if (trouble !== undefined) return fails(trouble.reason, trouble.message);
  const conditionValue = say('False', 'Snapshotting', `VolumeSnapshot ${name} is being taken`);
  if (taken === undefined)
    return { ...nothing, held, conditionValue, actions: [{ type: 'createSnapshot', name, claim: claim.metadata.name }] };
  return { ...nothing, held, conditionValue, againMs: lateAt(taken) - now };
}

/** Returns the reason why a snapshot is not ready, with a cure; undefined while it may become so. */
function snapshotTrouble(taken: VolumeSnapshot, now: number): Pick<ConditionValue, 'reason' | 'message'> | undefined {
  const { metadata, status } = taken;
  const look = `look at VolumeSnapshot ${metadata.name} and its class`;
  if (status?.error !== undefined) {
    const message = `VolumeSnapshot ${metadata.name} fails: ${status.error.message ?? 'no reason given'}; ${look}`;
    return { reason: 'SnapshotFailed', message };
  }
  const message = `VolumeSnapshot ${metadata.name} is not ready after ${storageTimeoutMs.snapshot / 1000} s; ${look}`;
  return now >= lateAt(taken) ? { reason: 'SnapshotLate', message } : undefined;
}

/** Returns the time from which on a snapshot is late, ms since the epoch. */
function lateAt({ metadata }: VolumeSnapshot): number {
  return Date.parse(metadata.creationTimestamp ?? '') + storageTimeoutMs.snapshot;
}

/** The snapshot takes the place of the volume and of older snapshots. */
function replaces(name: string, view: StorageView): StoragePlan {
  const actions: Action[] = [...view.claims.map((claim): Action => ({ type: 'deleteClaim', claim })), ...others(name, view)];
  const conditionValue = say('True', 'Snapshotted', `VolumeSnapshot ${name} holds the tree and what the keeper stored`);
  return { ...nothing, held: { volumeSnapshot: name }, actions, conditionValue };
}

/** Lets all snapshots go but one. */
function others(name: string | undefined, { snapshots = [] }: StorageView): readonly Action[] {
  return snapshots
    .filter(({ metadata }) => metadata.name !== name && metadata.deletionTimestamp === undefined)
    .map((snapshot) => ({ type: 'deleteSnapshot', snapshot }));
}

/** Returns the time at which the task ended, ms since the epoch; undefined before. */
export function endedAt(status: DesiredStatus): number | undefined {
  if (status.finished !== 'true') return undefined;
  return Date.parse(findCondition(status.conditions, 'Finished')?.lastTransitionTime ?? '');
}

/** Seconds that a tree stays which was kept on purpose, where the task names no time. */
const keptSeconds = 900;

/** Seconds that the sandbox stays after the end: 0 is at once, but a tree that is kept on purpose is there to be looked at. */
export function staySeconds({ snapshot }: Pick<Facts, 'snapshot'>, kept: boolean): number {
  const { sandboxSeconds } = retentionOf(snapshot);
  return kept && sandboxSeconds === 0 ? keptSeconds : sandboxSeconds;
}

/** Returns the time at which the sandbox of a task that has ended is deleted: −Infinity at once, Infinity not before the task itself. */
export function sandboxUntil(facts: Facts, status: DesiredStatus): number {
  const at = endedAt(status);
  if (at === undefined) return Infinity;
  const undone = findCondition(status.conditions, 'RolledBack');
  if (undone?.reason === 'Discarded') return -Infinity;
  if (undone?.reason === 'NotVerified') return Infinity;
  return at + staySeconds(facts, undone?.reason === 'Kept') * 1000;
}

/** Seconds that a task which a rollout counts stays after its end: the rollout reads it within one, or when another operator leads. */
const countedSeconds = 60;

/** Returns the time at which the task is deleted; Infinity: never, or not while another one waits for it. */
export function taskUntil({ spec, snapshot }: Facts, status: DesiredStatus): number {
  const at = endedAt(status);
  if (at === undefined || spec.ttlSecondsAfterFinished === undefined || snapshot.tracked || snapshot.awaited) return Infinity;
  const { rollout, shadow } = status.assignment ?? {};
  return at + Math.max(spec.ttlSecondsAfterFinished, (rollout ?? shadow) === undefined ? 0 : countedSeconds) * 1000;
}

/** Decides what the task keeps. Before the end is written it keeps everything, which must be found again after a crash in between. */
export function afterTheEnd(facts: Facts, status: DesiredStatus): { readonly keepSandbox: boolean; readonly deleteTask: boolean } {
  // One that was made for a task which no pool takes any more, before it was written down.
  const stray = facts.assignment === undefined && status.assignment === undefined && status.phase === 'Pending';
  return { keepSandbox: !stray && facts.now < sandboxUntil(facts, status), deleteTask: facts.now >= taskUntil(facts, status) };
}
