import { mkdir, open, readdir, rm, stat, type FileHandle } from 'node:fs/promises';
import { join } from 'node:path';
import type { ExecEnd } from '@agentfleet/protocol/keeper';
import { readLines } from '../base/lines.ts';
import { ifThere, replaceFile } from '../base/stored.ts';
import { type FollowSource, Journal, type JournalHeader, type JournalOptions } from './journal.ts';

const idPattern = /^[0-7][0-9A-HJKMNP-TV-Z]{25}$/;
const suffix = '.ndjson';
/** A journal shorter than this is not worth cutting, bytes. A cut journal is shorter. */
const smallBytes = 4096;
/** Read at once from the end of a journal; the last event is seldom longer. */
const tailBytes = 64 * 1024;
const newline = 0x0a;

/** The journals of all commands of this sandbox, `<store>/execs/<execId>.ndjson`. */
export class JournalArchive {
  readonly #folder: string;
  /** Bytes of the finished journals that can be cut, the oldest first. */
  readonly #finished = new Map<string, number>();
  #bytes = 0;

  private constructor(folder: string) {
    this.#folder = folder;
  }

  /** Existing journals count as finished, in the order of their last write. */
  static async open(folder: string): Promise<JournalArchive> {
    await mkdir(folder, { recursive: true, mode: 0o700 });
    const archive = new JournalArchive(folder);
    // A cut that a kill ended leaves the journal whole.
    for (const name of await readdir(folder)) if (!name.endsWith(suffix)) await rm(join(folder, name), { force: true });
    for (const [execId, size] of await archive.sizes()) archive.finished(execId, size);
    return archive;
  }

  /** Bytes of the journals by id, in the order of their last write. */
  async sizes(): Promise<ReadonlyMap<string, number>> {
    const found: { readonly execId: string; readonly size: number; readonly mtimeMs: number }[] = [];
    for (const name of await readdir(this.#folder)) {
      const { size, mtimeMs } = await stat(join(this.#folder, name));
      found.push({ execId: name.slice(0, -suffix.length), size, mtimeMs });
    }
    return new Map(found.sort((a, b) => a.mtimeMs - b.mtimeMs).map(({ execId, size }) => [execId, size]));
  }

  create(header: JournalHeader, options: JournalOptions): Promise<Journal> {
    return Journal.create(this.path(header.execId), header, options);
  }

  /** The header and a source of a finished command; null for an unknown one. */
  async find(execId: string): Promise<{ readonly header: JournalHeader; readonly source: FollowSource } | null> {
    if (!idPattern.test(execId)) return null;
    const file = this.path(execId);
    const header = await ifThere(readHeader(file));
    return header === null ? null : { header, source: { file, size: 0, ended: true, changed: () => Promise.resolve() } };
  }

  path(execId: string): string {
    return join(this.#folder, `${execId}${suffix}`);
  }

  /** Bytes of finished journals that {@link cutOldest} can free, about. */
  get finishedBytes(): number {
    return this.#bytes;
  }

  /** Records that a journal takes no more events. */
  finished(execId: string, bytes: number): void {
    if (bytes <= smallBytes || this.#finished.has(execId)) return;
    this.#finished.set(execId, bytes);
    this.#bytes += bytes;
  }

  /**
   * Removes the events of the oldest finished journal except its end, whose `dropped` then counts them. Its id stays
   * taken. Null when no journal can be cut. A current reader reads the old file to its end.
   */
  async cutOldest() {
    const [oldest] = this.#finished;
    if (oldest === undefined) return null;
    const [execId, bytes] = oldest;
    const file = this.path(execId);
    const header = await ifThere(readHeader(file));
    const text = header === null ? null : await cutText(file, { ...header, cut: true });
    if (text !== null) await replaceFile(file, text);
    this.#finished.delete(execId);
    this.#bytes -= bytes;
    return { execId, freedBytes: text === null ? 0 : Math.max(0, bytes - Buffer.byteLength(text)) };
  }
}

/** Returns the end of a command whose real end was not observed. */
export function interruptedEnd(interrupted: NonNullable<ExecEnd['interrupted']>, durationMs = 0): Omit<ExecEnd, 'seq'> {
  return {
    type: 'end',
    exitCode: null,
    signal: null,
    timedOut: false,
    killed: null,
    oom: null,
    durationMs,
    cpuMs: 0,
    maxRssBytes: 0,
    bytes: { stdout: 0, stderr: 0 },
    dropped: { stdout: 0, stderr: 0 },
    swept: 0,
    interrupted,
  };
}

async function readHeader(file: string): Promise<JournalHeader | null> {
  for await (const line of readLines(file)) {
    return line.complete ? (JSON.parse(line.bytes.toString('utf8')) as JournalHeader) : null;
  }
  return null;
}

/** The end that a journal has as its last event; null where a full disk or a crash cut it off before. */
export async function lastEvent(file: string): Promise<ExecEnd | null> {
  await using handle = await open(file, 'r');
  try {
    const event = JSON.parse(await lastLine(handle, (await handle.stat()).size)) as { readonly type: string };
    return event.type === 'end' ? (event as ExecEnd) : null;
  } catch (error) {
    if (error instanceof SyntaxError) return null;
    throw error;
  }
}

/** The last line of the first `size` bytes, with the newline that ends it. */
async function lastLine(handle: FileHandle, size: number): Promise<string> {
  let tail: Buffer = Buffer.alloc(0);
  for (let start = size; start > 0 && tail.lastIndexOf(newline, -2) === -1;) {
    const piece = Buffer.alloc(Math.min(tailBytes, start));
    start -= piece.length;
    const { bytesRead } = await handle.read(piece, 0, piece.length, start);
    tail = Buffer.concat([piece.subarray(0, bytesRead), tail]);
  }
  return tail.toString('utf8', tail.lastIndexOf(newline, -2) + 1);
}

async function cutText(file: string, header: JournalHeader): Promise<string> {
  const end = await lastEvent(file);
  const lines = end === null ? [header] : [header, { ...end, dropped: end.bytes, cut: true, seq: 1 } satisfies ExecEnd];
  return lines.map((line) => `${JSON.stringify(line)}\n`).join('');
}
