import type { MtimeRecord, SetMeta } from './engine.ts';
import { processEach, runToEnd, type Program } from './program.ts';

/** Standard input of `runner setmeta ROOT`: for each record `<mtimeNs> NUL <path> NUL`, the path relative to ROOT. */
export function encodeRecords(records: readonly MtimeRecord[]): Buffer {
  const zero = Buffer.of(0);
  return Buffer.concat(records.flatMap(({ path, mtimeNs }) => [Buffer.from(String(mtimeNs)), zero, path, zero]));
}

/**
 * A {@link SetMeta} that calls `runner setmeta <root>` once per batch. Rejects with the program's
 * standard error (first 4 KiB) when it does not exit with 0, or cannot be started.
 */
export function setMetaByRunner(runner: string | Program): SetMeta {
  const program = typeof runner === 'string' ? processEach(runner) : runner;
  return (rootPath, records) => runToEnd(program, ['setmeta', rootPath], encodeRecords(records));
}
