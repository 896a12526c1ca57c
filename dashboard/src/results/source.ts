import type { Readable } from 'node:stream';
import { Readable as Stream } from 'node:stream';
import { buffer } from 'node:stream/consumers';
import { extract } from 'tar-stream';
import { inspectLog } from '@agentfleet/keeper/log';
import type { Transport } from '@agentfleet/kube';
import type { AgentTask } from '@agentfleet/protocol/api';
import { type ArtifactList, resultsPath } from '@agentfleet/protocol/results';
import { fieldsOf, listOf, textOf } from '@agentfleet/protocol/text';
import { bounds } from '../base/config.ts';
import { DashboardError } from '../base/failure.ts';
import type { AuditState, UndoPlan } from '../base/wire.ts';

export interface TaskName {
  readonly namespace: string;
  readonly name: string;
}

/** Results that tasks left behind, as the user may read them. */
export interface ResultsSource {
  /** Lines of NDJSON, each a ConversationEntry; ends with a Pause where more may come. */
  conversation(task: TaskName, since: number, follow: boolean, signal: AbortSignal): Promise<Readable>;
  log(task: TaskName, signal: AbortSignal): Promise<Readable>;
  artifacts(task: TaskName): Promise<ArtifactList>;
  artifact(task: TaskName, name: string, signal: AbortSignal): Promise<Readable>;
}

/** The results API behind the API server, which asks RBAC for `get` of agenttasks/log and so on. */
export function apiResults(transport: Transport): ResultsSource {
  const open = async (path: string, query: Readonly<Record<string, string | number | boolean>>, signal: AbortSignal): Promise<Readable> => {
    const stream = await transport.stream({ method: 'GET', path, query, accept: '*/*', signal, retry: false, lane: 'watch' });
    const readable = Stream.from(stream.body, { objectMode: false });
    readable.once('close', () => stream.close());
    return readable;
  };
  return {
    conversation: (task, since, follow, signal) => open(resultsPath(task, 'conversation'), { since, follow }, signal),
    log: (task, signal) => open(resultsPath(task, 'log'), {}, signal),
    artifacts: (task) => transport.request<ArtifactList>({ method: 'GET', path: resultsPath(task, 'artifacts'), retry: false }),
    artifact: (task, name, signal) => open(resultsPath(task, 'artifacts', name), {}, signal),
  };
}

/** Reads a stream whole, up to `limit` bytes. */
export async function wholeOf(stream: Readable, limit: number): Promise<Buffer> {
  const chunks: Buffer[] = [];
  let size = 0;
  for await (const chunk of stream as AsyncIterable<Buffer>) {
    size += chunk.length;
    if (size > limit)
      throw new DashboardError(
        413,
        'AF_DASHBOARD_TOO_LARGE',
        `it has more than ${limit} bytes`,
        'Download it instead, or use fleet artifacts',
      );
    chunks.push(chunk);
  }
  return Buffer.concat(chunks);
}

/** Returns the effects of undoing, from the description in a revert bundle. Runs nothing of it. @throws DashboardError for no bundle */
export async function undoPlanOf(tar: Buffer): Promise<UndoPlan> {
  let text: string | undefined;
  try {
    for await (const entry of Stream.from([tar]).pipe(extract())) {
      const content = await buffer(entry);
      if (entry.header.name === 'description.json') text = content.toString('utf8');
    }
  } catch {
    text = undefined;
  }
  if (text === undefined) throw new DashboardError(502, 'AF_DASHBOARD_BUNDLE', 'revert.tar has no description.json', 'Use fleet undo');
  const { from, to, ops, irreversible, neverReverted, external } = fieldsOf(JSON.parse(text));
  return {
    from: textOf(fieldsOf(from)['snapshot']),
    to: textOf(fieldsOf(to)['snapshot']),
    ops: listOf(ops)
      .map(fieldsOf)
      .map(({ op, path }) => ({ op: textOf(op), path: textOf(path) })),
    irreversible: listOf(irreversible)
      .map(fieldsOf)
      .map(({ path, reason }) => ({ path: textOf(path), reason: textOf(reason) })),
    neverReverted: listOf(neverReverted).map(textOf),
    external: listOf(external)
      .map(fieldsOf)
      .map(({ target, state, why }) => ({ target: textOf(target), state: textOf(state), why: textOf(why) })),
  };
}

export const undoLimit = bounds.patchBytes * 4;

/**
 * Checks every record of a task's log. Its head is held against the status once the task has ended: until then the status may be
 * ahead of the mirror that is read.
 */
export async function auditOf(results: ResultsSource, task: AgentTask, place: TaskName, signal: AbortSignal): Promise<AuditState> {
  const log = await wholeOf(await results.log(place, signal), bounds.logBytes);
  const root = task.status?.finished === 'true' ? task.status.run?.auditRoot : undefined;
  const { ok, records, head, faults, behindRoot } = await inspectLog(log, { signal, ...(root === undefined ? {} : { root }) });
  const listed = faults.slice(0, 20).map(({ line, why }) => `line ${line}: ${why}`);
  return { ok, records, head: head.hash, faults: listed, behindRoot: behindRoot ?? 0 };
}
