import { constants } from 'node:fs';
import { open, type FileHandle } from 'node:fs/promises';
import { join } from 'node:path';
import type { Readable } from 'node:stream';
import { buffer } from 'node:stream/consumers';
import { maxFileBytes } from '@agentfleet/protocol/keeper';
import { errnoOf, KeeperError } from '../failure.ts';
import { standsAt } from './opened.ts';
import { resolveInRoots } from './resolve.ts';

export interface OpenedFile {
  readonly bytes: number;
  /** Exactly `bytes` bytes, also when the file grows meanwhile. */
  readonly content: Readable;
}

/** Opens a regular file inside the roots; a command may run meanwhile. @throws KeeperError */
export async function openFile(roots: readonly string[], path: string): Promise<OpenedFile> {
  const { folder, name } = await resolveInRoots(roots, path, false);
  const handle = await openNoFollow(join(folder, name), path);
  try {
    if (!(await standsAt(handle, join(folder, name)))) throw new KeeperError('AF_FILE_NOT_FOUND', `there is no file ${path} any more`);
    const stat = await handle.stat();
    if (!stat.isFile()) throw new KeeperError('AF_FILE_NOT_REGULAR', `${path} is not a regular file`);
    if (stat.size > maxFileBytes) throw new KeeperError('AF_TOO_LARGE', `${path} has ${stat.size} bytes, ${maxFileBytes} are allowed`);
    if (stat.size === 0) return { bytes: 0, content: handle.createReadStream() };
    return { bytes: stat.size, content: handle.createReadStream({ end: stat.size - 1 }) };
  } catch (error) {
    await handle.close();
    throw error;
  }
}

/** The bytes of a regular file inside the roots. @throws KeeperError as {@link openFile}, and `AF_TOO_LARGE` over `maxBytes` */
export async function readWhole(roots: readonly string[], path: string, maxBytes: number): Promise<Buffer> {
  const { bytes, content } = await openFile(roots, path);
  if (bytes <= maxBytes) return buffer(content);
  content.destroy();
  throw new KeeperError('AF_TOO_LARGE', `${path} has ${bytes} bytes, ${maxBytes} can be edited`);
}

async function openNoFollow(real: string, path: string): Promise<FileHandle> {
  try {
    // Not blocking: opening a fifo that nobody writes to would hang a thread of the pool for ever.
    return await open(real, constants.O_RDONLY | constants.O_NOFOLLOW | constants.O_NONBLOCK);
  } catch (error) {
    const code = errnoOf(error);
    if (code === 'ENOENT') throw new KeeperError('AF_FILE_NOT_FOUND', `there is no file ${path}`, { cause: error });
    if (code === 'ENXIO') throw new KeeperError('AF_FILE_NOT_REGULAR', `${path} is not a regular file`, { cause: error });
    if (code === 'EACCES')
      throw new KeeperError('AF_FILE_NOT_REGULAR', `${path} may not be read`, { cause: error, cure: 'change its mode by a command' });
    throw error;
  }
}
