import { type Prepared, type Scope, harnessOf } from './scope.ts';
import { attemptAction, type SetupStep } from '@agentfleet/protocol/api';
import type { ExecEnd, SnapshotRecord } from '@agentfleet/protocol/keeper';
import { tail, timeoutOf } from './checkRun.ts';
import { importedNote } from '../delivery/index.ts';
import { AttemptFailure } from '../base/failure.ts';
import { createGate } from './gate.ts';
import { poolRules, reachOf } from './sandboxSession.ts';

/** Labels of the snapshots that an attempt finds again. */
export const labels = { empty: 'empty', initial: 'initial', result: 'result', proof: 'proof' } as const;

/** The newest snapshot of a label. */
export function labelled(snapshots: readonly SnapshotRecord[], label: string): SnapshotRecord | undefined {
  return snapshots.findLast((one) => one.label === label);
}

/** Brings the sandbox to snapshot 0: imports and sets up when there is none yet, else restores what the contract demands. */
export async function prepare(scope: Scope): Promise<Prepared> {
  const { session, progress } = scope;
  progress.begin('prepare', 'preparing the workspace');
  await session.quieten();
  const snapshots = await session.snapshots();
  const initial = labelled(snapshots, labels.initial);
  const empty = labelled(snapshots, labels.empty);
  const prepared =
    initial === undefined || empty === undefined ? await begin(scope, empty) : await goOn(scope, snapshots, { empty, initial });
  progress.establish('InitialTaken', 'TreeClean');
  progress.finish('prepare');
  return prepared;
}

async function begin(scope: Scope, known: SnapshotRecord | undefined): Promise<Prepared> {
  const { context, session, options, progress } = scope;
  if (known !== undefined) await session.restore(known.id);
  const empty = known ?? (await session.snapshot(labels.empty));
  progress.say('importing the workspace');
  const { keeper, readConfigMap, signal, clock, task, pool } = context;
  const { credentials } = pool;
  const { commit } = await options.importWorkspace(task.spec.workspace, {
    keeper,
    root: session.root.path,
    readConfigMap,
    credentials,
    rules: poolRules(pool),
    signal,
    clock,
  });
  if (commit !== undefined) {
    await session.note(importedNote, { attempt: context.assignment.attempt, commit });
    scope.deliveries.imported(commit);
  }
  for (const step of task.spec.setup ?? []) await setUp(scope, step);
  const install = harnessOf(context)?.install;
  if (install !== undefined) await setUp(scope, { name: 'harness.install', ...install }, ownInstall);
  const initial = await session.snapshot(labels.initial);
  return { empty, initial, start: initial };
}

const ownSetup = { reason: 'SetupFailed', cure: 'correct spec.setup in a new task' } as const;
const ownInstall = { reason: 'HarnessMissing', cure: 'correct harness.install of the pool' } as const;

/** One set-up step, through gate 1. Its author is the task's, so that only what is denied outright is refused. */
async function setUp(scope: Scope, step: SetupStep, { reason, cure }: typeof ownSetup | typeof ownInstall = ownSetup): Promise<void> {
  const { context, session, meter, options, progress } = scope;
  const { task } = context;
  meter.check();
  const gate = createGate({ rails: options.rails, task, session }, null);
  const decision = gate.admit(step, 'set-up step');
  if (decision !== 'Allow') await session.note('Admitted', { step: step.name, decision });
  progress.say(`setting up: ${step.name}`);
  const { stdout, stderr, end } = await session.exec({
    argv: step.command,
    timeoutSeconds: timeoutOf(step, task),
    reach: reachOf(context, step.network),
  });
  if (end.exitCode === 0) return;
  if (end.interrupted !== undefined) {
    const message = `set-up step ${step.name} was cut off (${end.interrupted}); the task is tried again`;
    throw new AttemptFailure('Infrastructure', 'ToolsLost', message);
  }
  const how = end.error?.message ?? (end.timedOut ? 'it ran out of time' : end.oom === true ? 'it ran out of memory' : exitOf(end));
  const printed = `${stdout}\n${stderr}`.trim();
  const said = printed === '' ? 'nothing' : tail(printed, 600);
  throw new AttemptFailure('InvalidInput', reason, `set-up step ${step.name} failed: ${how}; ${cure}. It said: ${said}`);
}

function exitOf({ exitCode, signal, killed }: ExecEnd): string {
  if (killed !== null) return `it was ended (${killed})`;
  return exitCode === null ? `signal ${signal ?? 'unknown'} ended it` : `exit status ${exitCode}`;
}

/** A sandbox with snapshot 0: the tree is put back unless attempts of the task go on with it. */
async function goOn(scope: Scope, snapshots: readonly SnapshotRecord[], known: Pick<Prepared, 'empty' | 'initial'>): Promise<Prepared> {
  const { session } = scope;
  const kept = await keptTree(scope, snapshots);
  await session.restore(known.initial.id);
  return { ...known, start: kept ?? known.initial };
}

/** The tree that the attempt goes on with; null when it is snapshot 0. That of a conversation may hold half a command by now. */
async function keptTree(scope: Scope, snapshots: readonly SnapshotRecord[]): Promise<SnapshotRecord | null> {
  if (scope.resumes) return scope.session.snapshot(`taken over by epoch ${scope.context.assignment.epoch}`);
  return continues(scope) ? keepTree(scope, snapshots) : null;
}

/** Reports whether the attempt goes on with the tree as it is, as the class of the last closed attempt requires. */
function continues({ context }: Scope): boolean {
  const last = context.task.status?.attempts?.findLast(({ number }) => number < context.assignment.attempt);
  if (last?.class === undefined || last.class === 'Infrastructure') return false;
  return attemptAction(last.class, context.task.spec.attempts) === 'Retry';
}

/** Returns the snapshot that the first worker of the attempt kept, else takes it: after a takeover the tree may hold a candidate. */
async function keepTree({ context, session }: Scope, snapshots: readonly SnapshotRecord[]): Promise<SnapshotRecord> {
  const label = `kept ${context.assignment.attempt}`;
  return labelled(snapshots, label) ?? session.snapshot(label);
}
