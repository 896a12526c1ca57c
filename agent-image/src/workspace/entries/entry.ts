import { Readable, type Writable } from 'node:stream';
import { pipeline } from 'node:stream/promises';
import { pack, type Header, type Pack } from 'tar-stream';
import type { TreeWritten } from '@agentfleet/protocol/keeper';
import { AttemptFailure } from '../../base/failure.ts';

/** One file, folder or symbolic link of a workspace. */
export interface Entry {
  /** Relative to the workspace, with /. */
  readonly path: string;
  readonly kind: 'File' | 'Folder' | 'Link';
  readonly mode: number;
  /** Bytes of a file; 0 otherwise. */
  readonly size: number;
  /** Content of a file, `size` bytes in all; called at most once. */
  readonly content?: () => AsyncIterable<Uint8Array> | Iterable<Uint8Array>;
  /** Target of a link; may lead anywhere: nothing follows it on its way. */
  readonly target?: string;
}

/** Most files and folders of a workspace: each costs an object in every snapshot. */
export const maxEntries = 1_000_000;

/** Destination of the stream: the keeper's client. */
export interface TreeWriter {
  writeTree(path: string, tar: Readable, signal?: AbortSignal): Promise<TreeWritten>;
}

export interface Sent {
  readonly files: number;
  readonly bytes: number;
}

/**
 * Sends entries as one tar stream. The first of the two sides that fails gives the error. @throws AttemptFailure when
 * it is too large
 */
export async function sendEntries(
  keeper: TreeWriter,
  folder: string,
  entries: AsyncIterable<Entry> | Iterable<Entry>,
  options: { readonly limitBytes: number; readonly mtime: Date; readonly signal: AbortSignal },
): Promise<Sent> {
  const packer = pack();
  const tar = Readable.from(packer as AsyncIterable<Uint8Array>, { objectMode: false });
  const failures: unknown[] = [];
  const failed = (error: unknown): void => {
    failures.push(error);
    const reason = error instanceof Error ? error : new Error(String(error));
    packer.destroy(reason);
    tar.destroy(reason);
  };
  // The reader learns of the failure through its own rejection; an unread stream must not end the process.
  tar.on('error', () => undefined);
  packer.on('error', () => undefined);
  const [filled] = await Promise.all([
    fill(packer, entries, options).catch(failed),
    keeper.writeTree(folder, tar, options.signal).catch(failed),
  ]);
  if (failures.length > 0 || filled === undefined) throw failures[0];
  return filled;
}

async function fill(
  packer: Pack,
  entries: AsyncIterable<Entry> | Iterable<Entry>,
  { limitBytes, mtime, signal }: { readonly limitBytes: number; readonly mtime: Date; readonly signal: AbortSignal },
): Promise<Sent> {
  let files = 0;
  let bytes = 0;
  let count = 0;
  for await (const entry of entries) {
    signal.throwIfAborted();
    bytes += entry.size;
    count += 1;
    if (bytes > limitBytes) throw tooLarge(`is over ${limitBytes} bytes`);
    if (count > maxEntries) throw tooLarge(`has over ${maxEntries} files and folders`);
    if (entry.kind !== 'Folder') files += 1;
    await append(packer, { ...headerOf(entry), mtime }, entry);
  }
  packer.finalize();
  return { files, bytes };
}

/** Returns the failure that refuses a workspace of this size. */
export function tooLarge(what: string): AttemptFailure {
  return new AttemptFailure('InvalidInput', 'WorkspaceTooLarge', `the workspace ${what}; take a subPath, a smaller depth or fewer files`);
}

function headerOf({ path, kind, mode, size, target }: Entry): TarHeader {
  if (kind === 'Folder') return { name: `${path}/`, type: 'directory', mode };
  if (kind === 'Link') return { name: path, type: 'symlink', linkname: target ?? '', mode: 0o777 };
  return { name: path, type: 'file', mode, size };
}

type TarHeader = Partial<Header> & Pick<Header, 'name'>;

/** Waits while the stream has no room, so that a repository is never whole in memory. */
async function append(packer: Pack, header: TarHeader, entry: Entry): Promise<void> {
  const { promise, resolve, reject } = Promise.withResolvers<void>();
  const sink = packer.entry(header, (error) => (error ? reject(error) : resolve())) as unknown as Writable;
  sink.on('error', reject);
  await Promise.all([promise, entry.kind === 'File' && pipeline(Readable.from(entry.content?.() ?? []), sink)]);
}

/** A file whose content is in memory. */
export function fileEntry(path: string, text: string | Uint8Array, mode: number): Entry {
  const bytes = Buffer.from(text);
  return { path, kind: 'File', mode, size: bytes.length, content: () => [bytes] };
}
