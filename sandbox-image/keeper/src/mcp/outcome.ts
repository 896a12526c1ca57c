import { mcpBounds, type ExecEnd, type ExecEvent, type RedactionCounts } from '@agentfleet/protocol/keeper';
import type { Clock } from '../clock.ts';
import { follow, type FollowSource } from '../exec/index.ts';
import type { Redacting } from '@agentfleet/protocol/redact';
import { Clip } from './clip.ts';

/** What a command has written since an event, and how it ended if it did. */
export interface CommandOutcome {
  readonly execId: string;
  readonly running: boolean;
  /** Where the next look goes on. */
  readonly next: number;
  readonly stdout: string;
  readonly stderr: string;
  readonly end?: Omit<ExecEnd, 'type' | 'seq'>;
  readonly redacted?: RedactionCounts;
}

interface Watch {
  readonly execId: string;
  readonly from: number;
  readonly waitMs: number;
  readonly clock: Clock;
  readonly redacting: Redacting;
  /** Fires when nobody waits any more. */
  readonly signal: AbortSignal;
}

/**
 * Reads the events of a command until it ends or the time is over. Secrets are taken out here as well: a command whose
 * caller asked for exact bytes may be another's.
 */
export async function outcomeOf(source: FollowSource, watch: Watch): Promise<CommandOutcome> {
  const { clock, execId, redacting } = watch;
  const over = new AbortController();
  const stop = clock.after(watch.waitMs, () => over.abort());
  const signal = AbortSignal.any([over.signal, watch.signal]);
  const streams = { stdout: shown(redacting), stderr: shown(redacting) };
  let next = watch.from;
  let end: ExecEnd | undefined;
  try {
    for await (const event of eventsOf(source, { from: watch.from, clock, signal })) {
      if ('seq' in event) next = event.seq + 1;
      if (event.type === 'out') streams[event.stream].push('text' in event ? Buffer.from(event.text) : Buffer.from(event.b64, 'base64'));
      if (event.type === 'end') end = event;
    }
  } catch (error) {
    if (!over.signal.aborted) throw error;
  } finally {
    stop();
  }
  const [stdout, stderr] = [streams.stdout.finish(), streams.stderr.finish()];
  const counts = end?.redacted ?? redacting.counts;
  return {
    execId,
    running: end === undefined,
    next,
    stdout,
    stderr,
    ...(end !== undefined && { end: told(end) }),
    ...(counts !== null && { redacted: counts }),
  };
}

function told({ type: _type, seq: _seq, ...end }: ExecEnd): Omit<ExecEnd, 'type' | 'seq'> {
  return end;
}

async function* eventsOf(source: FollowSource, options: Parameters<typeof follow>[1]): AsyncGenerator<ExecEvent> {
  let rest = '';
  for await (const chunk of follow(source, options)) {
    const lines = (rest + chunk.toString('latin1')).split('\n');
    rest = lines.pop() ?? '';
    for (const line of lines) yield JSON.parse(Buffer.from(line, 'latin1').toString('utf8')) as ExecEvent;
  }
}

function shown(redacting: Redacting) {
  const redactor = redacting.redactor();
  const clip = new Clip(mcpBounds.outputChars);
  return {
    push: (bytes: Buffer): void => clip.push(redactor.push(bytes.toString('latin1'))),
    finish: (): string => {
      clip.push(redactor.finish());
      return clip.text((kept) => Buffer.from(kept, 'latin1').toString('utf8'));
    },
  };
}
