import { mkdir, open, rename, stat } from 'node:fs/promises';
import { dirname, join } from 'node:path';
import { WeightsFailure } from './failure.ts';
import { filesOf, type RemoteFile, type WeightsSource } from './source.ts';

/** Bytes of one request: what is asked for again when a connection breaks. */
const partBytes = 32 * 2 ** 20;

/** How far a fetch is. */
export interface Progress {
  readonly bytesDone: number;
  readonly bytesTotal: number;
}

export interface FetchOptions {
  readonly source: WeightsSource;
  /** Folder that the files come to; what is there of an earlier try is kept. */
  readonly folder: string;
  readonly onProgress: (progress: Progress) => void;
  readonly signal: AbortSignal;
}

/**
 * Fetches the files of a model into a folder. A file has its name only when it is whole; a part of it goes on where it was
 * left, in this process or a later one. Rejects with a WeightsFailure.
 */
export async function fetchWeights({ source, folder, onProgress, signal }: FetchOptions): Promise<void> {
  const files = filesOf(await source.list(signal));
  if (files.length === 0) throw new WeightsFailure('NotFound', 'there is no file of weights: correct the uri');
  const bytesTotal = files.reduce((sum, { bytes }) => sum + bytes, 0);
  let bytesDone = 0;
  const advance = (bytes: number): void => onProgress({ bytesDone: (bytesDone += bytes), bytesTotal });
  advance(0);
  for (const file of files) await fetchFile(file, { source, folder, advance, signal });
}

interface FileFetch {
  readonly source: WeightsSource;
  readonly folder: string;
  readonly advance: (bytes: number) => void;
  readonly signal: AbortSignal;
}

async function fetchFile({ path, bytes }: RemoteFile, { source, folder, advance, signal }: FileFetch): Promise<void> {
  const target = join(folder, path);
  if ((await sizeOf(target)) === bytes) return advance(bytes);
  await mkdir(dirname(target), { recursive: true });
  const part = `${target}.part`;
  await using file = await open(part, 'a+');
  const { size } = await file.stat();
  // More than the whole is of another file that had the name.
  const start = size <= bytes ? size : 0;
  if (start !== size) await file.truncate(0);
  advance(start);
  for (let at = start; at < bytes;) {
    const chunk = await source.read(path, at, Math.min(bytes, at + partBytes), signal);
    if (chunk.byteLength === 0 || at + chunk.byteLength > bytes)
      throw new WeightsFailure('Unreadable', `${path}: ${chunk.byteLength} bytes came at ${at} of ${bytes}`);
    await file.appendFile(chunk);
    at += chunk.byteLength;
    advance(chunk.byteLength);
  }
  await file.sync();
  await rename(part, target);
}

async function sizeOf(file: string): Promise<number | undefined> {
  const found = await stat(file).catch(() => undefined);
  return found?.isFile() === true ? found.size : undefined;
}
