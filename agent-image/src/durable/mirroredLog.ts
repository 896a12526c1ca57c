import type { AuditRecord } from '@agentfleet/protocol/keeper';
import { StoreFailure, type ArtifactStore } from '../store/index.ts';
import { logRange, placesOf, recordsIn, type LogRange } from './manifest.ts';
import type { Sealer } from './seal.ts';

interface MirroredLogOptions {
  readonly store: ArtifactStore;
  readonly sealer: Sealer;
  readonly task: { readonly namespace: string; readonly uid: string };
}

/** Files that may follow a record: those of a higher epoch first, within one epoch the one that reaches furthest. */
function candidates(ranges: readonly LogRange[], seq: number): readonly LogRange[] {
  const holding = ranges.filter(({ from, to }) => from <= seq && seq <= to);
  return holding.sort((a, b) => b.epoch - a.epoch || b.to - a.to);
}

/** The lines of a file from record `seq` on, and the hash of the last one; null where they do not follow `prev`. */
function following(text: Buffer, seq: number, prev: string | undefined): { readonly lines: Buffer; readonly last: AuditRecord } | null {
  const lines: Buffer[] = [];
  let last: AuditRecord | undefined;
  for (const { record, line } of recordsIn(text)) {
    if (record.seq < seq) continue;
    const before: string | undefined = last === undefined ? prev : last.hash;
    if (record.seq !== seq + lines.length || (before !== undefined && record.prev !== before)) return null;
    lines.push(line);
    last = record;
  }
  return last === undefined ? null : { lines: Buffer.concat(lines), last };
}

/**
 * Returns the records of a task's mirrored event log after number `since`, as bytes of whole lines; null when the store
 * has none. Records newer than the mirror are returned by a later call. @throws StoreFailure, DurableFailure
 */
export async function mirroredLog(
  { store, sealer, task }: MirroredLogOptions,
  since: number,
  signal: AbortSignal,
): Promise<AsyncIterable<Buffer> | null> {
  const places = placesOf(task);
  const ranges = (await store.list(places.logs, signal)).flatMap((key) => logRange(key) ?? []);
  if (ranges.length === 0) return null;
  const open = async (range: LogRange): Promise<Buffer | null> => {
    const key = places.log(range);
    try {
      return await sealer.open(key, await store.get(key, signal));
    } catch (error) {
      // Another file may hold the same records: this one was swept meanwhile.
      if (error instanceof StoreFailure && error.code === 'NotFound') return null;
      throw error;
    }
  };
  async function* lines(): AsyncGenerator<Buffer> {
    let last: Pick<AuditRecord, 'seq' | 'hash'> | undefined;
    for (;;) {
      const next = (last?.seq ?? since) + 1;
      let found: ReturnType<typeof following> = null;
      for (const range of candidates(ranges, next)) {
        const text = await open(range);
        found = text === null ? null : following(text, next, last?.hash);
        if (found !== null) break;
      }
      if (found === null) return;
      yield found.lines;
      last = found.last;
    }
  }
  return lines();
}
