import { spawn } from 'node:child_process';
import type { MtimeRecord, SetMeta } from './engine.ts';

/** Standard input of `runner setmeta ROOT`: for each record `<mtimeNs> NUL <path> NUL`, the path relative to ROOT. */
export function encodeRecords(records: readonly MtimeRecord[]): Buffer {
  const zero = Buffer.of(0);
  return Buffer.concat(records.flatMap(({ path, mtimeNs }) => [Buffer.from(String(mtimeNs)), zero, path, zero]));
}

/**
 * A {@link SetMeta} that runs `<binary> setmeta <root>` once per batch. Rejects with the program's
 * standard error (first 4 KiB) when it does not exit with 0, or cannot be started.
 */
export function setMetaByRunner(binary: string): SetMeta {
  return (rootPath, records) => runWithInput(binary, ['setmeta', rootPath], encodeRecords(records));
}

/** Runs a program to its end with `input` as its standard input. */
export function runWithInput(command: string, args: readonly string[], input: Buffer): Promise<void> {
  const { promise, resolve, reject } = Promise.withResolvers<void>();
  const child = spawn(command, args, { stdio: ['pipe', 'ignore', 'pipe'], env: {} });
  let stderr = '';
  child.stderr.on('data', (chunk: Buffer) => {
    if (stderr.length < 4096) stderr += chunk.toString('utf8').slice(0, 4096 - stderr.length);
  });
  // A program that exits early closes its input; the exit status tells why.
  child.stdin.on('error', () => undefined);
  child.on('error', reject);
  child.on('close', (code, signal) => {
    if (code === 0) resolve();
    else reject(new Error(`${command} ${args[0] ?? ''} ended with ${code ?? signal ?? 'no status'}: ${stderr.trim()}`));
  });
  child.stdin.end(input);
  return promise;
}
