import type { ShellAct } from '@agentfleet/protocol/inference';
import { tail } from '../checkRun.ts';
import type { Rewrite } from '../edits.ts';
import type { Gate } from '../gate.ts';
import { write, type SearchNode } from '../node.ts';
import type { Reach } from '../reach.ts';
import type { Scope } from '../scope.ts';
import type { ActIdentity } from './earlierRun.ts';
import { effectJournal } from './outward.ts';

/** Wall time of one command of a candidate, seconds. */
export const actSeconds = 60;

/** Why the commands of a candidate did not all end with 0. */
export interface Failed {
  readonly result: 'Worse' | 'Crashed';
  readonly why: string;
}

/** Commands of one candidate. */
export interface Acts {
  readonly acts: readonly ShellAct[];
  /** A person allowed them. */
  readonly approved: boolean;
  /** What they may reach; null: nothing. */
  readonly reach: Reach | null;
}

/** Whether commands must not be run a second time: a person allowed them once, or what they did outside may stand. */
export function onlyOnce(gate: Gate, { acts, approved, reach }: Acts): boolean {
  return approved || (reach !== null && acts.length > 0) || acts.some(({ command }) => gate.outward(command).external.length > 0);
}

/**
 * Runs the commands of a candidate one after the other; null when each ended with 0. What one does outside of the sandbox
 * stands in the event log before it is done.
 */
export async function runActs(
  { context, session }: Scope,
  gate: Gate,
  { acts, approved, reach }: Acts,
  identity: ActIdentity,
): Promise<Failed | null> {
  const journal = effectJournal({ context, session });
  for (const { command } of acts) {
    const { stdout, stderr, end } = await journal.around({ command, approved, ...gate.outward(command) }, async () => {
      const run = await session.exec({ command, timeoutSeconds: actSeconds, reach, act: identity });
      return { ...run, ok: run.end.exitCode === 0 && run.end.interrupted === undefined };
    });
    if (end.exitCode === 0 && end.interrupted === undefined) continue;
    const how =
      end.error?.message ??
      (end.timedOut ? `ran out of its ${actSeconds} s` : (end.killed ?? `exit ${String(end.exitCode ?? end.signal)}`));
    const said = tail(`${stdout}\n${stderr}`.trim(), 240);
    const why = `${tail(command, 120)}: ${how}${said === '' ? '' : `; it said: ${said}`}`;
    return { result: end.interrupted === undefined ? 'Worse' : 'Crashed', why };
  }
  return null;
}

/**
 * Makes the tree that a trial's candidate leaves, on the clean tree of its node. Commands are not run again, because they
 * may reach out of the sandbox or end otherwise the second time: the snapshot that was taken after them is restored.
 */
export async function perform(
  scope: Scope,
  { after, rewrites }: { readonly after: string | null; readonly rewrites: readonly Rewrite[] },
): Promise<void> {
  if (after === null) await write(scope, rewrites);
  else await scope.session.restore(after);
}

/** The nearest snapshot at or above a node. */
export function snapshotOf(node: SearchNode): string {
  for (let at: SearchNode | null = node; at !== null; at = at.parent) if (at.snapshot !== null) return at.snapshot;
  throw new Error('the root of a search has a snapshot');
}
