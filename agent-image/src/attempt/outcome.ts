import { KeeperRefusal } from '@agentfleet/keeper/client';
import type { Run } from '@agentfleet/protocol/api';
import { countTests } from '../checks/index.ts';
import type { Ran } from './checkRun.ts';
import { AttemptFailure } from './failure.ts';
import type { Outcome } from './ports.ts';

type CheckResult = NonNullable<NonNullable<Run['outcome']>['checks']>[number];

const maxMessage = 1024;

/** Counts of each check for the status; an errored test counts as failed. */
export function checkResults(runs: readonly Ran[]): CheckResult[] {
  return runs.slice(0, 16).map(({ check, results, millis }) => {
    const { passed, failed, errored, skipped } = countTests(results);
    return { name: check, passed, failed: failed + errored, skipped, seconds: Math.ceil(millis / 1000) };
  });
}

/** The outcome of an attempt that something ended. What the keeper refuses is the infrastructure's, the rest is our fault. */
export function failed(error: unknown): Outcome {
  if (error instanceof AttemptFailure) return outcome(error.failureClass, error.reason, error.message);
  const message = error instanceof Error ? error.message : String(error);
  if (error instanceof KeeperRefusal) return outcome('Infrastructure', reasonOf(error.code), message);
  return outcome('AgentError', 'UnexpectedError', `${message}; see the log of the worker`);
}

/** `AF_STORE_FULL` → `KeeperStoreFull`. */
function reasonOf(code: string): string {
  const words = code.replace(/^AF_/, '').toLowerCase().split('_');
  return `Keeper${words.map((word) => word.charAt(0).toUpperCase() + word.slice(1)).join('')}`;
}

function outcome(cls: NonNullable<Outcome['class']>, reason: string, message: string): Outcome {
  return { result: 'Failed', class: cls, reason, message: bounded(message) };
}

/** By code points, so that no character is cut in two. */
export function bounded(message: string): string {
  const points = Array.from(message);
  return points.length <= maxMessage ? message : `${points.slice(0, maxMessage - 1).join('')}…`;
}
