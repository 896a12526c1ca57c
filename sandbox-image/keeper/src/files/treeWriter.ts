import { constants } from 'node:fs';
import { chmod, link, lstat, lutimes, mkdir, open, rm, symlink, unlink, type FileHandle } from 'node:fs/promises';
import { errnoOf, KeeperError } from '../base/failure.ts';
import { displayPath, sysPath, type BytePath } from '../snapshot/index.ts';
import { lstatOrNull } from './tree/resolve.ts';
import { type TreeEntry, readEntry } from './pack.ts';
import { createHash } from 'node:crypto';
import { Transform, type Readable } from 'node:stream';
import { pipeline } from 'node:stream/promises';
import { extract } from 'tar-stream';
import { maxTreeBytes } from '@agentfleet/protocol/keeper';

interface TreeRules {
  /** Lets a path with so many bytes in. @throws KeeperError */
  readonly admit: (path: BytePath, bytes: number) => Promise<void>;
  /** Throws when the caller may not write any more. */
  readonly assertMayWrite: () => void;
}

/** Counts of what has been written. */
export interface TreeCounts {
  files: number;
  folders: number;
  links: number;
  bytes: number;
}

/** System errors that the archive or the tree causes. */
const refusals: Readonly<Record<string, string>> = {
  ENAMETOOLONG: 'its name is longer than the system allows',
  EACCES: 'its folder may not be written to',
  EPERM: 'the system forbids it',
  EMLINK: 'the file has too many names',
  EXDEV: 'the hard link leads to another volume',
};

/**
 * Writes checked entries below one real folder. Parents are walked without following links, so nothing is written
 * anywhere else; the caller holds the gate, so no process swaps them meanwhile. Modes and times of folders are set at
 * the end: a closed folder could not be filled.
 */
export class TreeWriter {
  readonly counts: TreeCounts = { files: 0, folders: 0, links: 0, bytes: 0 };
  readonly #folder: BytePath;
  readonly #rules: TreeRules;
  /** Known to be real folders. No folder is ever removed, so they stay that. */
  readonly #walked = new Set<BytePath>();
  readonly #folders = new Map<BytePath, TreeEntry>();

  constructor(folder: BytePath, rules: TreeRules) {
    this.#folder = folder;
    this.#rules = rules;
    this.#walked.add(folder);
  }

  /** @throws KeeperError `AF_INVALID` naming the entry, and errors of the rules */
  async add(entry: TreeEntry, content: AsyncIterable<Uint8Array>): Promise<void> {
    this.#rules.assertMayWrite();
    try {
      await this.#write(entry, content);
    } catch (error) {
      throw refusalOf(entry, error);
    }
  }

  async finish(): Promise<void> {
    const deepestFirst = [...this.#folders].sort(([, a], [, b]) => b.parts.length - a.parts.length);
    for (const [path, entry] of deepestFirst) {
      this.#rules.assertMayWrite();
      try {
        await chmod(sysPath(path), entry.mode);
        await lutimes(sysPath(path), entry.mtime, entry.mtime);
      } catch (error) {
        throw refusalOf(entry, error);
      }
    }
  }

  async #write(entry: TreeEntry, content: AsyncIterable<Uint8Array>): Promise<void> {
    if (entry.what.kind === 'folder') return this.#addFolder(entry);
    const path = await this.#placeOf(entry, entry.parts);
    if (entry.what.kind === 'hardLink') return this.#addHardLink(entry, path, entry.what.source);
    await this.#rules.admit(path, entry.what.kind === 'file' ? entry.what.size : 0);
    await clear(entry, path);
    if (entry.what.kind === 'file') return this.#addFile(entry, path, content);
    await symlink(sysPath(entry.what.target), sysPath(path));
    await lutimes(sysPath(path), entry.mtime, entry.mtime);
    this.counts.links += 1;
  }

  async #addFile(entry: TreeEntry, path: BytePath, content: AsyncIterable<Uint8Array>): Promise<void> {
    const flags = constants.O_WRONLY | constants.O_CREAT | constants.O_EXCL | constants.O_NOFOLLOW;
    await using handle = await open(sysPath(path), flags, 0o600);
    try {
      const bytes = await this.#fill(handle, content);
      await handle.chmod(entry.mode);
      await handle.utimes(entry.mtime, entry.mtime);
      this.counts.files += 1;
      this.counts.bytes += bytes;
    } catch (error) {
      await rm(sysPath(path), { force: true });
      throw error;
    }
  }

  async #fill(handle: FileHandle, content: AsyncIterable<Uint8Array>): Promise<number> {
    let bytes = 0;
    for await (const chunk of content) {
      this.#rules.assertMayWrite();
      await handle.appendFile(chunk);
      bytes += chunk.length;
    }
    return bytes;
  }

  async #addFolder(entry: TreeEntry): Promise<void> {
    if (entry.parts.length === 0) return; // the folder that was named: its mode is not the archive's business
    const path = await this.#placeOf(entry, entry.parts);
    const made = !this.#walked.has(path) && (await this.#enter(entry, path));
    if (!made) await this.#openUp(path);
    this.#folders.set(path, entry);
    // A created folder is counted already; an existing one is reused.
    if (!made) this.counts.folders += 1;
  }

  /** A folder of an earlier import may be closed; it gets its mode from the entry at the end. */
  async #openUp(path: BytePath): Promise<void> {
    const { mode } = await lstat(sysPath(path));
    if ((mode & 0o700) !== 0o700) await chmod(sysPath(path), (mode & 0o777) | 0o700);
  }

  async #addHardLink(entry: TreeEntry, path: BytePath, source: readonly BytePath[]): Promise<void> {
    const from = await this.#placeOf(entry, source, false);
    const stat = await lstatOrNull(from);
    if (stat === null) throw invalid(entry, `there is no ${displayPath(from)} to link to`);
    if (!stat.isFile()) throw invalid(entry, `${displayPath(from)} is not a regular file, so it gets no further name`);
    const there = await lstatOrNull(path);
    // Already a name of that file, perhaps the only one: it must not be removed first.
    if (there?.ino !== stat.ino || there.dev !== stat.dev) {
      await this.#rules.admit(path, 0);
      await clear(entry, path);
      await link(sysPath(from), sysPath(path));
    }
    this.counts.links += 1;
  }

  async #placeOf(entry: TreeEntry, parts: readonly BytePath[], create = true): Promise<BytePath> {
    let path = this.#folder;
    for (const part of parts.slice(0, -1)) {
      path = `${path}/${part}`;
      if (!this.#walked.has(path)) await this.#enter(entry, path, create);
    }
    return `${path}/${parts.at(-1) ?? ''}`;
  }

  /** Makes sure that a path is a real folder. @returns whether it was made */
  async #enter(entry: TreeEntry, path: BytePath, create = true): Promise<boolean> {
    const stat = await lstatOrNull(path);
    if (stat?.isSymbolicLink() === true) throw invalid(entry, `it leads through the symbolic link ${displayPath(path)}`);
    if (stat !== null && !stat.isDirectory()) throw invalid(entry, `${displayPath(path)} is not a folder`);
    if (stat === null) {
      if (!create) throw invalid(entry, `there is no folder ${displayPath(path)}`);
      await this.#rules.admit(path, 0);
      await mkdir(sysPath(path), 0o755);
      this.counts.folders += 1;
    }
    this.#walked.add(path);
    return stat === null;
  }
}

async function clear(entry: TreeEntry, path: BytePath): Promise<void> {
  const stat = await lstatOrNull(path);
  if (stat === null) return;
  if (stat.isDirectory()) throw invalid(entry, `there is a folder of that name`);
  await unlink(sysPath(path));
}

function invalid(entry: TreeEntry, why: string): KeeperError {
  return new KeeperError('AF_INVALID', `entry ${entry.name}: ${why}`);
}

function refusalOf(entry: TreeEntry, error: unknown): unknown {
  const why = refusals[errnoOf(error) ?? ''];
  return why === undefined ? error : new KeeperError('AF_INVALID', `entry ${entry.name}: ${why}`, { cause: error });
}

/**
 * Reads an archive to its end and passes its entries to the writer, one at a time. The sender's stream is never
 * destroyed, so that it can still get an answer.
 *
 * @returns hex SHA-256 of the archive
 * @throws KeeperError `AF_INVALID` when it is no archive, `AF_TOO_LARGE`, and the writer's errors
 */
export async function unpackTree(tar: Readable, writer: TreeWriter): Promise<string> {
  const hash = createHash('sha256');
  const meter = meterOf(tar, (chunk) => hash.update(chunk));
  const reader = extract({ filenameEncoding: 'latin1' } as Parameters<typeof extract>[0]);
  const feeding = pipeline(meter, reader);
  feeding.catch(() => undefined); // reported by the reader, too
  try {
    for await (const entry of reader) {
      await writer.add(readEntry(entry.header), entry as AsyncIterable<Uint8Array>);
      entry.resume(); // for entries without content
    }
    await feeding;
    await writer.finish();
    return hash.digest('hex');
  } catch (error) {
    throw faultOf(error instanceof KeeperError ? error : (meter.errored ?? error));
  } finally {
    tar.unpipe(meter);
    meter.destroy();
    tar.resume();
  }
}

function meterOf(tar: Readable, update: (chunk: Buffer) => void): Transform {
  let bytes = 0;
  const meter = new Transform({
    transform: (chunk: Buffer, _encoding, done) => {
      bytes += chunk.length;
      update(chunk);
      if (bytes > maxTreeBytes) done(new KeeperError('AF_TOO_LARGE', `the archive is over ${maxTreeBytes} bytes`));
      else done(null, chunk);
    },
    flush: (done) => done(bytes === 0 ? new KeeperError('AF_INVALID', 'the body is empty, a tar archive is needed') : null),
  });
  const left = (): void => {
    if (!tar.readableEnded) meter.destroy(new KeeperError('AF_INVALID', 'the sender left before the end of the archive'));
  };
  tar.once('error', left).once('close', left);
  tar.pipe(meter);
  return meter;
}

/** Plain errors come from the archive reader: they describe the fault of the archive. */
function faultOf(error: unknown): unknown {
  if (!(error instanceof Error)) return error;
  if ('code' in error && error.code === 'STREAM_DESTROYED')
    return new KeeperError('AF_INVALID', 'the archive ends in the middle of a file');
  if (error.name !== 'Error' || 'code' in error) return error;
  return new KeeperError('AF_INVALID', `the archive cannot be read: ${error.message}`, { cause: error });
}
