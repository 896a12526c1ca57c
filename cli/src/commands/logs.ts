import { sleep } from '@agentfleet/kube';
import type { ArtifactFlags } from '../evidence/artifact.ts';
import { readLogOf } from '../evidence/log.ts';
import { timelineLines, timelineOf } from '../timeline/index.ts';
import { printable } from '../text/printable.ts';
import { taskOf, type CommandContext } from './command.ts';
import { eventsOf } from './explain.ts';

export interface LogsFlags extends ArtifactFlags {
  readonly follow: boolean;
}

const pollMs = 2_000;

/** Prints what happened to a task: its event log where that can be had, else the events of the cluster; with `follow` until it has ended. */
export async function logs(context: CommandContext, name: string, flags: LogsFlags): Promise<void> {
  const { clock, signal } = context;
  if (flags.file !== undefined || flags.endpoint !== undefined) {
    const { trace } = await readLogOf(await taskOf(context, name), flags, context);
    for (const line of timelineLines(timelineOf(trace.read))) context.print(line);
    return;
  }
  const seen = new Set<string>();
  for (;;) {
    const task = await taskOf(context, name);
    for (const { metadata, type, reason, note = '', eventTime, series } of await eventsOf(context, task)) {
      const key = `${metadata.uid ?? metadata.name} ${series?.count ?? 1}`;
      if (seen.has(key)) continue;
      seen.add(key);
      context.print(`${eventTime ?? metadata.creationTimestamp ?? ''} ${type} ${reason} ${printable(note)}`);
    }
    const ended = task.status?.finished === 'true';
    if (!flags.follow || ended) {
      if (seen.size === 0) context.warn('the cluster keeps no events of it, as a rule for an hour');
      const stored = task.status?.run?.artifacts?.find((artifact) => artifact.name === 'trace.ndjson');
      if (stored !== undefined)
        context.warn(
          `all steps are in the event log ${stored.uri}: give --endpoint and --credential-file of that store, or --file with a copy`,
        );
      return;
    }
    if (!(await sleep(clock, pollMs, signal))) return;
  }
}
