import { execBounds, type ExecEnd, type ExecEvent } from '@agentfleet/protocol/keeper';

/** A finished command. Outputs hold what the keeper kept, as bytes decoded to UTF-8 text. */
export interface ExecResult {
  readonly stdout: string;
  readonly stderr: string;
  readonly end: ExecEnd;
}

/** Collects a command's events. Rejects when the stream stops before the command's end. */
export async function collect(events: AsyncIterable<ExecEvent>): Promise<ExecResult> {
  const parts: Record<'stdout' | 'stderr', Buffer[]> = { stdout: [], stderr: [] };
  let kept = 0;
  let end: ExecEnd | undefined;
  // Read to the end of the stream, not only to the end event: a body that is left unread costs its connection.
  for await (const event of events) {
    if (event.type === 'end') end = event;
    if (event.type !== 'out') continue;
    const bytes = 'text' in event ? Buffer.from(event.text, 'utf8') : Buffer.from(event.b64, 'base64');
    kept += bytes.length;
    if (kept > 2 * execBounds.outputLimitBytes) throw new Error('the keeper sent more output than it may');
    parts[event.stream].push(bytes);
  }
  if (end !== undefined) {
    return { stdout: Buffer.concat(parts.stdout).toString('utf8'), stderr: Buffer.concat(parts.stderr).toString('utf8'), end };
  }
  throw new Error('the stream of the command stopped before its end; follow it from the last sequence number');
}
