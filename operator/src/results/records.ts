import { linesOf, sleep, slices, type Clock } from '@agentfleet/kube';
import type { AgentTask } from '@agentfleet/protocol/api';
import type { AuditRecord } from '@agentfleet/protocol/keeper';
import { traceName } from '@agentfleet/protocol/results';
import { Readable } from 'node:stream';
import { Refused } from './refused.ts';
import type { WorkersClient } from './workers.ts';

interface RecordsOptions {
  readonly task: AgentTask;
  /** The task as it is now; undefined when it is gone. Rejects with a Refused when the caller may not read it any more. */
  readonly again: (signal: AbortSignal) => Promise<AgentTask | undefined>;
  readonly workers: Pick<WorkersClient, 'log' | 'artifact'>;
  readonly since: number;
  readonly follow: boolean;
  readonly clock: Clock;
}

/** Time between two looks at the storage, and at the task, ms. */
const everyMs = { log: 1000, task: 5000 } as const;

export interface LoggedRecord {
  readonly record: AuditRecord;
  /** As it was written, without its line feed. */
  readonly line: string;
}

async function* recordsIn(body: Readable, since: number, clock: Clock): AsyncGenerator<LoggedRecord> {
  const pause = slices(clock);
  for await (const line of linesOf(body)) {
    const record = JSON.parse(line) as AuditRecord;
    if (record.seq > since) yield { record, line };
    if (pause.due()) await pause.yield();
  }
}

/** The log of a task that has ended, after the mirror was swept: the artifact of its last attempt. */
async function storedLog(
  { status }: AgentTask,
  ask: (uri: string) => ReturnType<WorkersClient['artifact']>,
): Promise<Readable | undefined> {
  const uri = status?.run?.artifacts?.find(({ name }) => name === traceName)?.uri;
  return uri === undefined ? undefined : (await ask(uri))?.body;
}

const isOver = ({ status }: AgentTask): boolean => status?.finished === 'true';

/**
 * The first records, so that what is refused is refused before anything is sent, and all that follow: until the log is read, or,
 * when it is followed, until the task has ended. @throws Refused
 */
export async function openRecords(options: RecordsOptions, signal: AbortSignal): Promise<AsyncIterable<LoggedRecord>> {
  const { task, workers, since, follow, clock } = options;
  const body = await workers.log(task, since, signal);
  if (body !== undefined) return recordsOf(options, body, signal);
  const stored = await storedLog(task, (uri) => workers.artifact(task, uri, signal));
  if (stored !== undefined) return recordsIn(stored, since, clock);
  if (isOver(task))
    throw new Refused(
      404,
      `nothing of the event log of AgentTask ${task.metadata.name} is in the storage of its pool: it never ran, or spec.retention has removed it`,
    );
  return follow ? recordsOf(options, undefined, signal) : recordsIn(Readable.from([]), since, clock);
}

async function* recordsOf(options: RecordsOptions, first: Readable | undefined, signal: AbortSignal): AsyncGenerator<LoggedRecord> {
  const { again, workers, follow, clock } = options;
  let { since, task } = options;
  let body = first;
  let lookAt = clock.monotonic() + everyMs.task;
  let gone = false;
  for (;;) {
    // Read before the log: an end that is reported here is true of all that the log holds when it is read.
    const over = gone || isOver(task);
    if (body !== undefined)
      for await (const logged of recordsIn(body, since, clock)) {
        since = logged.record.seq;
        yield logged;
      }
    if (!follow || over) return;
    await sleep(clock, everyMs.log, signal);
    signal.throwIfAborted();
    if (clock.monotonic() >= lookAt) {
      const now = await again(signal);
      gone = now === undefined; // its log stays for a while, with what it did since the last look
      task = now ?? task;
      lookAt = clock.monotonic() + everyMs.task;
    }
    try {
      body = await workers.log(task, since, signal);
    } catch (error) {
      // Workers are replaced while tasks run; of one that has ended the last records must not be missing without a word.
      if (!(error instanceof Refused) || error.status !== 503 || gone || isOver(task)) throw error;
      body = undefined;
    }
  }
}
