import { createHash, type Hash } from 'node:crypto';
import { mkdir, open, readdir, rm, stat, type FileHandle } from 'node:fs/promises';
import { join } from 'node:path';
import type { Readable } from 'node:stream';
import type { ExecEnd, SpillFile } from '@agentfleet/protocol/keeper';
import { errnoOf, KeeperError } from '../base/failure.ts';
import type { StreamName } from './output.ts';

const highWaterBytes = 1024 * 1024;
/** Commands whose spilled output stays. */
const keptCommands = 8;

interface SpillOptions {
  readonly execId: string;
  readonly maxBytes: number;
  readonly room: () => Promise<number>;
}

/** Output that is over the limit of the events, `<store>/spills/<execId>.<stream>`. */
export class SpillStore {
  readonly #folder: string;
  /** Commands that may still write to their files. */
  readonly #open = new Set<string>();

  private constructor(folder: string) {
    this.#folder = folder;
  }

  static async open(folder: string): Promise<SpillStore> {
    await mkdir(folder, { recursive: true, mode: 0o700 });
    return new SpillStore(folder);
  }

  /** Takes the output of one command. Nothing is made before its first byte. */
  spill(options: SpillOptions): Spill {
    this.#open.add(options.execId);
    return new Spill({
      ...options,
      onFinished: () => this.#open.delete(options.execId),
      prepare: () => this.#forgetOldest(options.execId),
      path: (stream) => this.#path(options.execId, stream),
    });
  }

  /** Reads a range of spilled output. @throws KeeperError `AF_NOT_FOUND`, `AF_INVALID` for a range that begins after the end */
  async read(
    execId: string,
    stream: StreamName,
    offset: number,
    most: number,
  ): Promise<{ readonly bytes: number; readonly content: Readable }> {
    const handle = await this.#opened(execId, stream);
    const { size } = await handle.stat();
    const bytes = Math.min(most, size - offset);
    if (bytes > 0) return { bytes, content: handle.createReadStream({ start: offset, end: offset + bytes - 1 }) };
    await handle.close();
    throw new KeeperError('AF_INVALID', `offset: ${offset} is not before the end, ${size}`);
  }

  async #opened(execId: string, stream: StreamName): Promise<FileHandle> {
    try {
      return await open(this.#path(execId, stream), 'r');
    } catch (error) {
      if (errnoOf(error) !== 'ENOENT') throw error;
      const cure = 'ask for spillBytes with the command; the files of the last 8 such commands stay';
      throw new KeeperError('AF_NOT_FOUND', `no ${stream} of ${execId} is in a file`, { cure, cause: error });
    }
  }

  /** Removes the files of finished commands, the oldest first, until `bytes` are free. Returns the freed bytes. */
  async forget(bytes: number): Promise<number> {
    let freed = 0;
    for (const { id, bytes: its } of (await this.#byAge()).toReversed()) {
      if (freed >= bytes) break;
      if (this.#open.has(id)) continue;
      await this.#remove(id);
      freed += its;
    }
    return freed;
  }

  async #forgetOldest(execId: string): Promise<void> {
    const others = (await this.#byAge()).filter(({ id }) => id !== execId);
    for (const { id } of others.slice(keptCommands - 1)) await this.#remove(id);
  }

  async #byAge(): Promise<readonly { readonly id: string; readonly at: number; readonly bytes: number }[]> {
    const found = new Map<string, { id: string; at: number; bytes: number }>();
    for (const name of await readdir(this.#folder)) {
      const id = name.split('.', 1)[0] ?? '';
      const { mtimeMs, size } = await stat(join(this.#folder, name));
      const known = found.get(id) ?? { id, at: 0, bytes: 0 };
      found.set(id, { id, at: Math.max(known.at, mtimeMs), bytes: known.bytes + size });
    }
    return [...found.values()].sort((a, b) => b.at - a.at);
  }

  async #remove(id: string): Promise<void> {
    for (const stream of ['stdout', 'stderr'] as const) await rm(this.#path(id, stream), { force: true });
  }

  #path(execId: string, stream: StreamName): string {
    return join(this.#folder, `${execId}.${stream}`);
  }
}

interface SpillTarget extends SpillOptions {
  readonly onFinished: () => void;
  readonly prepare: () => Promise<void>;
  readonly path: (stream: StreamName) => string;
}

interface StreamFile {
  readonly handle: FileHandle;
  readonly hash: Hash;
  bytes: number;
}

/**
 * The files of one command. Bytes are written in their order; the first that find no room, or that the disk does not take,
 * end the spilling of both streams, so that a file never has a gap.
 */
export class Spill {
  readonly #target: SpillTarget;
  readonly #files: Partial<Record<StreamName, StreamFile>> = {};
  #left: number | null = null;
  #pending = 0;
  #over = false;
  #writing: Promise<void> = Promise.resolve();

  constructor(target: SpillTarget) {
    this.#target = target;
  }

  /** A returned promise asks to wait with more. */
  push(stream: StreamName, bytes: Buffer): Promise<void> | undefined {
    if (this.#over) return undefined;
    this.#pending += bytes.length;
    this.#writing = this.#writing
      .then(() => this.#write(stream, bytes))
      .catch(() => {
        this.#over = true; // a full disk: the numbers of the end show the loss
      })
      .finally(() => {
        this.#pending -= bytes.length;
      });
    return this.#pending > highWaterBytes ? this.#writing : undefined;
  }

  /** Closes the files. @returns null when nothing was spilled */
  async finish(): Promise<NonNullable<ExecEnd['spill']> | null> {
    await this.#writing;
    this.#over = true;
    this.#target.onFinished();
    const files: { stdout?: SpillFile; stderr?: SpillFile } = {};
    for (const stream of ['stdout', 'stderr'] as const) {
      const file = this.#files[stream];
      if (file === undefined) continue;
      await file.handle.close();
      files[stream] = { bytes: file.bytes, sha256: file.hash.digest('hex') };
    }
    return Object.keys(files).length === 0 ? null : files;
  }

  async #write(stream: StreamName, bytes: Buffer): Promise<void> {
    if (this.#over) return;
    this.#left ??= await this.#room();
    const taken = bytes.subarray(0, Math.max(0, this.#left));
    if (taken.length < bytes.length) this.#over = true;
    if (taken.length === 0) return;
    const file = (this.#files[stream] ??= await this.#create(stream));
    try {
      for (let done = 0; done < taken.length;) {
        done += (await file.handle.write(taken, done, taken.length - done, file.bytes + done)).bytesWritten;
      }
    } catch (error) {
      await file.handle.truncate(file.bytes);
      throw error;
    }
    file.hash.update(taken);
    file.bytes += taken.length;
    this.#left -= taken.length;
  }

  async #room(): Promise<number> {
    await this.#target.prepare();
    return Math.min(this.#target.maxBytes, await this.#target.room());
  }

  async #create(stream: StreamName): Promise<StreamFile> {
    return { handle: await open(this.#target.path(stream), 'wx', 0o600), hash: createHash('sha256'), bytes: 0 };
  }
}
