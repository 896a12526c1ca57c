import { wholeRun } from '../results.ts';
import type { CheckClass, CheckRun, ReasonCode } from './types.ts';

export interface BadEnd {
  readonly code: ReasonCode;
  readonly class: CheckClass;
  readonly message: string;
  readonly cure: string;
}

/** Reasons outside of the command. A quota or process limit is the command's own. */
const outside = new Set(['Cancelled', 'Shutdown', 'SupervisorDied']);

/** No resources to start a process with: not the command's fault. */
const transient = new Set(['EAGAIN', 'ENOMEM', 'EMFILE', 'ENFILE', 'EIO', 'ENOSPC', 'ETIMEDOUT', 'ECONNRESET', 'EPIPE']);

/**
 * Why the run did not end by itself; null when it did. Out of memory counts against the change: runs
 * that are never charged could go on for ever.
 */
export function badEnd({ end, results }: CheckRun): BadEnd | null {
  if (end.interrupted !== undefined) {
    return { code: 'Interrupted', class: 'Infrastructure', message: `the run was cut off (${end.interrupted})`, cure: 'it is run again' };
  }
  if (end.error !== undefined) return notStarted(end.error);
  if (end.timedOut)
    return failed('TimedOut', 'the command ran out of time', 'raise timeoutSeconds of the check, or find what does not end');
  if (end.oom === true)
    return failed('OutOfMemory', 'the command ran out of memory', 'raise the memory of the sandbox, or find what takes it');
  if (end.killed !== null) {
    if (outside.has(end.killed))
      return { code: 'Interrupted', class: 'Infrastructure', message: `the run was ended (${end.killed})`, cure: 'it is run again' };
    return failed('Killed', `the command was ended (${end.killed})`, 'raise the limit of the sandbox, or find what exceeds it');
  }
  if (end.exitCode === null) return failed('Killed', `signal ${end.signal ?? 'unknown'} ended the command`, 'read the output of the check');
  if ((end.exitCode === 126 || end.exitCode === 127) && results.tests.every(({ id, kind }) => id === wholeRun || kind === 'Container')) {
    return notRunnable(`exit code ${end.exitCode}: the command was not ${end.exitCode === 127 ? 'found' : 'executable'}`);
  }
  return null;
}

function notStarted({ code, message }: { readonly code: string; readonly message: string }): BadEnd {
  if (!transient.has(code)) return notRunnable(`the command could not be started: ${code} ${message}`);
  return {
    code: 'Interrupted',
    class: 'Infrastructure',
    message: `the command could not be started: ${code} ${message}`,
    cure: 'it is run again',
  };
}

const failed = (code: ReasonCode, message: string, cure: string): BadEnd => ({ code, class: 'CheckFailed', message, cure });

const notRunnable = (message: string): BadEnd => ({
  code: 'NotRunnable',
  class: 'InvalidInput',
  message,
  cure: 'install it in the image or by setup, and name it as it is found from the workspace',
});
