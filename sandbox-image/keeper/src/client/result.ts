import { execBounds, type ExecEnd, type ExecEvent } from '@agentfleet/protocol/keeper';
import { KeeperRefusal } from './errors.ts';

/** A finished command. Outputs hold what the keeper kept, as bytes decoded to UTF-8 text. */
export interface ExecResult {
  readonly stdout: string;
  readonly stderr: string;
  readonly end: ExecEnd;
}

/** Collects a command's events. Rejects when the stream stops before the command's end, or brings more output than it may. */
export async function collect(events: AsyncIterable<ExecEvent>): Promise<ExecResult> {
  const parts: Record<'stdout' | 'stderr', Buffer[]> = { stdout: [], stderr: [] };
  let kept = 0;
  let end: ExecEnd | undefined;
  // Read to the end of the stream, not only to the end event: a body that is left unread costs its connection.
  for await (const event of events) {
    if (event.type === 'end') end = event;
    if (event.type !== 'out') continue;
    const bytes = bytesOf(event);
    kept += bytes.length;
    if (kept > 2 * execBounds.outputLimitBytes)
      throw KeeperRefusal.ofAnswer('AF_ANSWER_TOO_LARGE', 'the keeper sent more output of a command than it may');
    append(parts[event.stream], bytes);
  }
  if (end !== undefined) {
    return { stdout: Buffer.concat(parts.stdout).toString('utf8'), stderr: Buffer.concat(parts.stderr).toString('utf8'), end };
  }
  throw new Error('the stream of the command stopped before its end; follow it from the last sequence number');
}

function bytesOf(event: Extract<ExecEvent, { type: 'out' }>): Buffer {
  const [text, encoding] = 'text' in event ? ([event.text, 'utf8'] as const) : ([event.b64, 'base64'] as const);
  // A keeper may not be what it should be: an object with a length would become a buffer of that length.
  if (typeof text === 'string' && (event.stream === 'stdout' || event.stream === 'stderr')) return Buffer.from(text, encoding);
  throw KeeperRefusal.ofAnswer('AF_ANSWER_MALFORMED', 'an event of a command has output that is no text');
}

/** Pieces that are held apart; a buffer of its own for each byte costs a hundred times as much. */
const mostPieces = 4096;

function append(parts: Buffer[], bytes: Buffer): void {
  if (bytes.length === 0) return;
  if (parts.length >= mostPieces) parts.splice(0, parts.length, Buffer.concat(parts));
  parts.push(bytes);
}
