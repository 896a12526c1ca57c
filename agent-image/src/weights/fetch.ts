// agent-image, weights: download of a model's files. May import checks, egress, rails, store, base; protocol, kube, keeper's client.
import { createHash, randomUUID } from 'node:crypto';
import { constants } from 'node:fs';
import { mkdir, open, readdir, readFile, rename, rm, stat, writeFile, type FileHandle } from 'node:fs/promises';
import { dirname, join } from 'node:path';
import { jsonIn } from '../base/text.ts';
import { WeightsFailure } from './failure.ts';
import { filesOf, type RemoteFile, type WeightsSource } from './source.ts';
import { indexName, loadedFiles } from './tensors.ts';

/** Bytes of one request: the part that is requested again when a connection breaks. */
const partBytes = 32 * 2 ** 20;

/** Progress of a fetch. */
export interface Progress {
  readonly bytesDone: number;
  readonly bytesTotal: number;
}

interface FetchOptions {
  readonly source: WeightsSource;
  /** Destination folder; files of an earlier run are kept while they are those of the source. */
  readonly folder: string;
  /** A digest that the folder lacks although its files are those of the source: for each one they are fetched once more. */
  readonly missed?: string;
  readonly onProgress: (progress: Progress) => void;
  readonly signal: AbortSignal;
}

/**
 * Makes a folder hold the files of a model and nothing else. A file has its name only when it is complete; a partial one is
 * continued, in this process or a later one, while the source still has the content that it is a part of.
 * Rejects with a WeightsFailure. @returns how many files were there already
 */
export async function fetchWeights({ source, folder, missed, onProgress, signal }: FetchOptions): Promise<number> {
  const files = await loadedOf(source, signal);
  const bytesTotal = files.reduce((sum, { bytes }) => sum + bytes, 0);
  let bytesDone = 0;
  const advance = (bytes: number): void => onProgress({ bytesDone: (bytesDone += bytes), bytesTotal });
  advance(0);
  const record = await recordOf(folder);
  if (missed !== undefined) await record.forget(missed);
  const wanted = files.map((file) => ({ ...file, part: partOf(file) }));
  await removeOthers(folder, new Set(wanted.flatMap(({ path, part }) => [join(folder, path), join(folder, part)])));
  let kept = 0;
  for (const file of wanted) {
    if (await record.holds(file)) {
      advance(file.bytes);
      kept += 1;
    } else {
      await fetchFile(file, { source, folder, advance, signal });
      await record.add(file);
    }
  }
  return kept;
}

/** The files that an engine loads. */
async function loadedOf(source: WeightsSource, signal: AbortSignal): Promise<readonly RemoteFile[]> {
  const files = filesOf(await source.list(signal));
  if (files.length === 0) throw new WeightsFailure('NotFound', 'there is no file of weights: correct the uri');
  const index = files.find(({ path }) => path === indexName);
  const text: Uint8Array[] = [];
  if (index !== undefined) for await (const { chunk } of chunksOf(index, 0, source, signal)) text.push(chunk);
  const loaded = loadedFiles(
    files.map(({ path }) => path),
    index && Buffer.concat(text).toString(),
  );
  return files.filter(({ path }) => loaded.has(path));
}

/** The bytes of a file from a place on. */
async function* chunksOf(file: RemoteFile, start: number, source: WeightsSource, signal: AbortSignal) {
  const { path, bytes } = file;
  for (let at = start; at < bytes;) {
    const chunk = await source.read(file, at, Math.min(bytes, at + partBytes), signal);
    if (chunk.byteLength === 0 || at + chunk.byteLength > bytes)
      throw new WeightsFailure('Unreadable', `${path}: ${chunk.byteLength} bytes came at ${at} of ${bytes}`);
    yield { at, chunk };
    at += chunk.byteLength;
  }
}

/** Returns the name of a file until it is complete: each content has its own part, and one without an identity is never continued. */
function partOf({ path, identity }: RemoteFile): string {
  const content = createHash('sha256')
    .update(identity ?? randomUUID())
    .digest('hex');
  return `${path}.${content.slice(0, 16)}.part`;
}

interface FileFetch {
  readonly source: WeightsSource;
  readonly folder: string;
  readonly advance: (bytes: number) => void;
  readonly signal: AbortSignal;
}

/**
 * Fetches one file. Another run may do the same at the same time, as one that is ended goes on for a while: both write the same
 * bytes to the same places, each without a gap from where it began, and the run that is ready first gives the file its name.
 */
async function fetchFile(file: RemoteFile & { readonly part: string }, { source, folder, advance, signal }: FileFetch): Promise<void> {
  const { path, bytes } = file;
  const [target, part] = [join(folder, path), join(folder, file.part)];
  await mkdir(dirname(target), { recursive: true });
  await using handle = await open(part, constants.O_RDWR | constants.O_CREAT);
  const { size } = await handle.stat();
  advance(Math.min(size, bytes));
  for await (const { at, chunk } of chunksOf(file, size, source, signal)) {
    await writeAt(handle, chunk, at);
    advance(chunk.byteLength);
  }
  await handle.sync();
  await rename(part, target).catch(async (error: unknown) => {
    if ((await found(target))?.size !== bytes) throw error;
  });
}

async function writeAt(file: FileHandle, chunk: Uint8Array, position: number): Promise<void> {
  for (let done = 0; done < chunk.byteLength;) {
    const { bytesWritten } = await file.write(chunk, done, chunk.byteLength - done, position + done);
    done += bytesWritten;
  }
}

async function found(file: string): Promise<{ readonly size: number; readonly mtimeMs: number } | undefined> {
  const here = await stat(file).catch(() => undefined);
  return here?.isFile() === true ? here : undefined;
}

/** Removes files that the source has no more, and parts of contents that it has no more. */
async function removeOthers(folder: string, keep: ReadonlySet<string>): Promise<void> {
  for (const entry of await readdir(folder, { recursive: true, withFileTypes: true })) {
    const path = join(entry.parentPath, entry.name);
    if (!entry.isDirectory() && !keep.has(path)) await rm(path, { force: true });
  }
}

interface Recorded {
  readonly files: Readonly<Record<string, { readonly identity: string; readonly mtimeMs: number }>>;
  /** The last digest for which everything was fetched once more. */
  readonly missed?: string;
}

/** The files of a folder as they were at the source; stored beside it, as `<folder>.json`. One that cannot be read is empty: then everything is fetched. */
async function recordOf(folder: string) {
  let recorded: Recorded = { files: {}, ...(jsonIn(await readFile(`${folder}.json`, 'utf8').catch(() => '')) as Partial<Recorded> | null) };
  const write = async (now: Recorded): Promise<void> => {
    recorded = now;
    const own = `${folder}.${randomUUID()}.json`;
    await writeFile(own, JSON.stringify(recorded));
    await rename(own, `${folder}.json`);
  };
  return {
    /** Reports whether a file is there as it was fetched, and is still that of the source. */
    async holds({ path, bytes, identity }: RemoteFile): Promise<boolean> {
      const here = await found(join(folder, path));
      const known = recorded.files[path];
      return here?.size === bytes && known !== undefined && known.identity === identity && known.mtimeMs === here.mtimeMs;
    },
    async add({ path, identity }: RemoteFile): Promise<void> {
      const here = await found(join(folder, path));
      if (here === undefined || identity === undefined) return;
      await write({ ...recorded, files: { ...recorded.files, [path]: { identity, mtimeMs: here.mtimeMs } } });
    },
    /** Forgets all files, once for a digest. */
    async forget(missed: string): Promise<void> {
      if (recorded.missed !== missed) await write({ files: {}, missed });
    },
  };
}
