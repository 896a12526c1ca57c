import { constants, type Dirent } from 'node:fs';
import { lstat, mkdir, open, readdir, realpath, rename, rm, rmdir, unlink, type FileHandle } from 'node:fs/promises';
import { randomUUID } from 'node:crypto';
import { dirname, join } from 'node:path';
import type { Clock } from '@agentfleet/kube';
import { codeOf } from '../base/failure.ts';
import {
  collect,
  readContent,
  StoreFailure,
  assertKey,
  unfinishedFolder,
  type ArtifactStore,
  type StoredArtifact,
  type StoredEntry,
} from './store.ts';

interface VolumeStoreOptions {
  readonly folder: string;
  readonly claim: string;
  readonly spool: string;
  readonly clock: Clock;
}

/** Age of an unfinished file whose writer cannot live any more, ms. */
const abandonedMs = 60 * 60_000;

/** Another process may remove an emptied folder between its creation and use, but not more often than this. */
const tries = 5;

/** Artifacts as files. A file has its name only when it is complete and on disk. */
export class VolumeStore implements ArtifactStore {
  readonly #options: VolumeStoreOptions;
  #swept: Promise<void> | undefined;

  constructor(options: VolumeStoreOptions) {
    this.#options = options;
  }

  async put(key: string, from: Parameters<ArtifactStore['put']>[1], _contentType: string, signal?: AbortSignal): Promise<StoredArtifact> {
    assertKey(key);
    signal?.throwIfAborted();
    await using content = await readContent(from, this.#options.spool, signal);
    const unfinished = join(this.#options.folder, unfinishedFolder, randomUUID());
    try {
      // Not recursive: a volume that is not mounted must not become a folder of the container.
      await mkdir(dirname(unfinished)).catch(unlessThere);
      await (this.#swept ??= this.#sweep(dirname(unfinished)).catch(() => undefined)); // tidiness must not fail a put
      await fill(unfinished, content.body(), signal);
      await this.#place(unfinished, key);
    } catch (error) {
      await rm(unfinished, { force: true });
      throw failureOf(error, key);
    }
    return { uri: `pvc://${this.#options.claim}/${key}`, sha256: content.sha256, bytes: content.bytes };
  }

  async get(key: string, signal?: AbortSignal): Promise<Buffer> {
    assertKey(key);
    signal?.throwIfAborted();
    try {
      await using handle = await open(await this.#path(key), constants.O_RDONLY | constants.O_NOFOLLOW | constants.O_NONBLOCK);
      if (!(await handle.stat()).isFile()) throw new StoreFailure('NotFound', `${key} is not a file`);
      // A stream that begins with an aborted signal fails before it has a listener, and ends the process.
      signal?.throwIfAborted();
      return await collect(handle.createReadStream({ autoClose: false, ...(signal === undefined ? {} : { signal }) }));
    } catch (error) {
      throw failureOf(error, key);
    }
  }

  async list(prefix: string, signal?: AbortSignal): Promise<readonly string[]> {
    const keys: string[] = [];
    const folders = [''];
    try {
      for (let folder = folders.pop(); folder !== undefined; folder = folders.pop()) {
        signal?.throwIfAborted();
        for (const entry of await this.#entries(folder)) {
          const key = folder + entry.name;
          if (entry.isFile() && key.startsWith(prefix)) keys.push(key);
          if (entry.isDirectory() && key !== unfinishedFolder && mayLead(`${key}/`, prefix)) folders.push(`${key}/`);
        }
      }
    } catch (error) {
      throw failureOf(error, prefix);
    }
    return keys.sort();
  }

  async entries(prefix: string, signal?: AbortSignal): Promise<readonly StoredEntry[]> {
    const found: StoredEntry[] = [];
    for (const key of await this.list(prefix, signal)) {
      signal?.throwIfAborted();
      try {
        const { size, mtimeMs } = await lstat(join(this.#options.folder, key));
        found.push({ key, bytes: size, modifiedAt: mtimeMs });
      } catch (error) {
        if (codeOf(error) !== 'ENOENT') throw failureOf(error, key); // removed since: it is no key any more
      }
    }
    return found;
  }

  /** A folder that another worker has emptied and removed since has no entries; the volume itself must be there. */
  async #entries(folder: string): Promise<readonly Dirent[]> {
    try {
      return await readdir(join(this.#options.folder, folder), { withFileTypes: true });
    } catch (error) {
      if (folder !== '' && codeOf(error) === 'ENOENT') return [];
      throw error;
    }
  }

  async remove(keys: readonly string[], signal?: AbortSignal): Promise<void> {
    keys.forEach(assertKey);
    for (const key of keys) {
      signal?.throwIfAborted();
      try {
        await unlink(await this.#path(key));
        await this.#prune(key);
      } catch (error) {
        if (!notThere.has(codeOf(error) ?? '')) throw failureOf(error, key);
      }
    }
  }

  /** Moves a complete file to its name, and makes that name durable. */
  async #place(unfinished: string, key: string): Promise<void> {
    for (let attempt = 1; ; attempt++) {
      try {
        await this.#makeFolders(key);
        await rename(unfinished, await this.#path(key));
        break;
      } catch (error) {
        if (codeOf(error) !== 'ENOENT' || attempt >= tries) throw error;
      }
    }
    for (let folder = dirname(key); ; folder = dirname(folder)) {
      await syncFolder(join(this.#options.folder, folder));
      if (folder === '.') return;
    }
  }

  /** Removes leftovers of killed workers, once per process. Others may sweep at the same time. */
  async #sweep(folder: string): Promise<void> {
    for (const name of await readdir(folder)) {
      const found = await lstat(join(folder, name)).catch(() => null);
      if (found !== null && this.#options.clock.now() - found.mtimeMs > abandonedMs) await rm(join(folder, name), { force: true });
    }
  }

  /** Makes the folders of a key one by one, because a recursive mkdir would follow a link out of the volume. */
  async #makeFolders(key: string): Promise<void> {
    let path = this.#options.folder;
    for (const part of key.split('/').slice(0, -1)) {
      path = join(path, part);
      await mkdir(path).catch(unlessThere);
      if ((await lstat(path)).isSymbolicLink()) throw linked(key);
    }
  }

  /** The path of a key; its folder must be a real one. */
  async #path(key: string): Promise<string> {
    const wanted = join(await realpath(this.#options.folder), dirname(key));
    if ((await realpath(wanted)) !== wanted) throw linked(key);
    return join(wanted, key.slice(key.lastIndexOf('/') + 1));
  }

  async #prune(key: string): Promise<void> {
    for (let folder = dirname(key); folder !== '.'; folder = dirname(folder)) {
      try {
        await rmdir(join(this.#options.folder, folder));
      } catch {
        return; // not empty, or removed by another process: both are fine
      }
    }
  }
}

/** Errors for a key that is missing when it is removed; a folder of other keys is no key. */
const notThere = new Set(['ENOENT', 'ENOTDIR', 'EISDIR']);

function linked(key: string): StoreFailure {
  return new StoreFailure('InvalidKey', `key ${key}: a symbolic link is in its way`);
}

function mayLead(folder: string, prefix: string): boolean {
  return folder.startsWith(prefix) || prefix.startsWith(folder);
}

async function fill(path: string, body: Buffer | AsyncIterable<Uint8Array>, signal?: AbortSignal): Promise<void> {
  await using handle: FileHandle = await open(path, 'wx', 0o640);
  for await (const chunk of Buffer.isBuffer(body) ? [body] : body) {
    signal?.throwIfAborted();
    await handle.appendFile(chunk);
  }
  await handle.sync();
}

async function syncFolder(path: string): Promise<void> {
  try {
    await using handle = await open(path, constants.O_RDONLY | constants.O_DIRECTORY);
    await handle.sync();
  } catch (error) {
    // Emptied and removed by another worker since: then there is no name left to make durable.
    if (codeOf(error) !== 'ENOENT') throw error;
  }
}

function unlessThere(error: unknown): void {
  if (codeOf(error) !== 'EEXIST') throw error;
}

const failures = {
  ENOENT: ['NotFound', 'is not there'],
  ENOTDIR: ['InvalidKey', 'leads through a file'],
  EISDIR: ['InvalidKey', 'is a folder of other keys'],
  ENOTEMPTY: ['InvalidKey', 'is a folder of other keys'],
  ELOOP: ['InvalidKey', 'is a symbolic link'],
  EACCES: ['Denied', 'may not be reached'],
  EPERM: ['Denied', 'may not be changed'],
  EROFS: ['Denied', 'lies on a volume that is mounted read-only'],
  ENOSPC: ['Full', 'does not fit: the volume is full'],
  EDQUOT: ['Full', 'does not fit: the quota of the volume is used up'],
  EIO: ['Corrupt', 'cannot be read or written: the disk fails'],
} as const;

function failureOf(error: unknown, key: string): unknown {
  const code = codeOf(error) ?? '';
  if (!Object.hasOwn(failures, code)) return error;
  const [failure, words] = failures[code as keyof typeof failures];
  const cure = failure === 'Denied' ? 'let the group of the workers (fsGroup) write to the volume' : undefined;
  return new StoreFailure(failure, `${key} ${words}`, { cause: error, ...(cure === undefined ? {} : { cure }) });
}
