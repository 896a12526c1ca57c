import { inspectLog, type LogInspection } from '@agentfleet/keeper/log';
import type { AuditRecord } from '@agentfleet/protocol/keeper';
import { statSync } from 'node:fs';
import type { AgentTask } from '@agentfleet/protocol/api';
import { traceName } from '@agentfleet/protocol/results';
import { CliError } from '../base/failure.ts';
import { obtain, type ArtifactFlags, type Fetching } from './artifact.ts';

/** An event log as it was read, whole or not. */
export interface Trace extends LogInspection {
  /** Records whose content fits their own hash, as they stand in the file. Only when `ok` they are what happened. */
  readonly read: readonly AuditRecord[];
}

/** Reads and checks an event log, given by its path or its content; `root` is `status.run.auditRoot` of its task. */
export async function readTrace(log: string | Buffer, root?: string, signal?: AbortSignal): Promise<Trace> {
  const read: AuditRecord[] = [];
  const onRecord = (record: AuditRecord): void => void read.push(record);
  const inspection = await inspectLog(log, {
    onRecord,
    ...(root === undefined ? {} : { root }),
    ...(signal === undefined ? {} : { signal }),
  });
  return { ...inspection, read };
}

export interface LogFlags extends ArtifactFlags {
  /** Head of a log that is a file. */
  readonly root?: string;
}

/** A log and what vouches for it. */
export interface CheckedLog {
  readonly trace: Trace;
  /** For people: where it was read from. */
  readonly from: string;
  readonly root: string | undefined;
  /** Difference from the artifact of its task; null when there is none, or when no task was named. */
  readonly wrong: string | null;
}

/** Reports whether the argument is the path of a log and not the name of a task: that has no slash, and flags that fetch mean a task. */
export function isFile(log: string, { file, endpoint }: ArtifactFlags): boolean {
  if (file !== undefined || endpoint !== undefined) return false;
  return log.includes('/') || log.endsWith('.ndjson') || statSync(log, { throwIfNoEntry: false })?.isFile() === true;
}

/** Reads a log from a file. @throws CliError */
export async function readLogFile(file: string, { root }: LogFlags, signal: AbortSignal): Promise<CheckedLog> {
  if (statSync(file, { throwIfNoEntry: false })?.isFile() !== true) throw new CliError(`there is no file ${file}; name a log, or a task`);
  return { trace: await readTrace(file, root, signal), from: file, root, wrong: null };
}

/** Reads the log of a task, from its store or from a copy. @throws CliError */
export async function readLogOf(task: AgentTask, flags: LogFlags, fetching: Fetching): Promise<CheckedLog> {
  const { metadata, status } = task;
  const root = status?.run?.auditRoot;
  if (flags.root !== undefined && flags.root !== root)
    throw new CliError(`the head of AgentTask ${metadata.name} is ${root ?? 'not reported'}, not ${flags.root}; leave --root out`);
  const { artifact, content, wrong } = await obtain(task, traceName, flags, fetching);
  return { trace: await readTrace(content, root, fetching.signal), from: flags.file ?? artifact.uri, root, wrong };
}
