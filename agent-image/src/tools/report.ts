import type { ExecEnd } from '@agentfleet/protocol/keeper';
import { count, plain } from './text.ts';

/** How long a command could take, and the most that it may be given, seconds. */
export interface Limit {
  readonly seconds: number;
  readonly max: number;
}

/**
 * Output and, on the last line, how the command ended.
 *
 * @param name of a background process
 */
export function report(output: string, end: ExecEnd, limit: Limit, name = ''): string {
  const text = plain(output).replace(/\n$/, '');
  const facts = [
    howItEnded(end, limit),
    ...(text === '' ? ['no output'] : []),
    ...(dropped(end) > 0 ? [`${dropped(end)} bytes of output were not kept`] : []),
    ...(end.swept > 0 ? [`${count(end.swept, 'process')} that it left running ended with it; background keeps one`] : []),
  ];
  return `${text}${text === '' ? '' : '\n'}[${name === '' ? '' : `${name}: `}${facts.join(', ')}]`;
}

function dropped({ dropped: { stdout, stderr } }: ExecEnd): number {
  return stdout + stderr;
}

/** Exit status of a program that SIGPIPE ended. */
const pipeClosed = 141;

const killed: Readonly<Record<string, string>> = {
  Cancelled: 'it was cancelled',
  QuotaExceeded: 'the files of the workspace are over their size limit; delete what is not needed',
  ProcessLimit: 'it had too many processes; start fewer at a time',
  Shutdown: 'the sandbox was stopped',
};

function howItEnded(end: ExecEnd, { seconds, max }: Limit): string {
  const after = `after ${(end.durationMs / 1000).toFixed(1)} s`;
  if (end.error !== undefined) return `it could not start: ${plain(end.error.message)}`;
  if (end.interrupted !== undefined) return 'the container was lost while it ran; what it did is unknown: look before you go on';
  if (end.timedOut)
    return `ended at its limit of ${seconds} s; do less at once${seconds < max ? `, raise timeout_seconds (at most ${max})` : ''} or use background`;
  if (end.oom === true) return `ended ${after}: out of memory; use less`;
  if (end.killed !== null) return `ended ${after}: ${killed[end.killed] ?? end.killed}`;
  if (end.exitCode === null) return `ended ${after} by signal ${end.signal ?? 'unknown'}`;
  const cause =
    end.exitCode === pipeClosed ? ' (a part of the pipe wrote on when its reader, such as head, had ended; usually no fault)' : '';
  return `exit status ${end.exitCode}${cause}, ${(end.durationMs / 1000).toFixed(1)} s`;
}
