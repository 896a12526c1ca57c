import { createHash } from 'node:crypto';
import { constants } from 'node:fs';
import { lstat, open, rename, type FileHandle } from 'node:fs/promises';
import { join } from 'node:path';
import { Readable } from 'node:stream';
import { editBounds, maxFileBytes, type FileWritten } from '@agentfleet/protocol/keeper';
import { KeeperError } from '../base/failure.ts';
import { ifThere } from '../base/stored.ts';
import { readWhole } from './tree/look.ts';
import { resolveInRoots } from './tree/resolve.ts';
import type { StagedFiles } from './staged.ts';
import type { SyntaxCheck } from './syntax/index.ts';

export interface WriteOptions {
  /** Permission bits; null keeps those of the file, or gives 644 to a new one. */
  readonly mode: number | null;
  readonly staged: StagedFiles;
  /** Called when the content is complete and before it becomes visible. */
  readonly beforeCommit: () => void;
}

/**
 * Replaces a file inside the roots, or makes it and its folders. Readers see the old content or
 * the new, never a part. @throws KeeperError
 */
export async function writeFile(roots: readonly string[], path: string, content: Readable, options: WriteOptions): Promise<FileWritten> {
  const { folder, name } = await resolveInRoots(roots, path, true);
  const target = join(folder, name);
  const oldMode = await modeOf(target, path);
  const temporary = await options.staged.add(folder);
  const flags = constants.O_WRONLY | constants.O_CREAT | constants.O_EXCL | constants.O_NOFOLLOW;
  try {
    const handle = await open(temporary, flags, 0o600);
    const written = await fillAndClose(handle, content, options.mode ?? oldMode ?? 0o644);
    options.beforeCommit();
    await rename(temporary, target);
    return { path: target, ...written, created: oldMode === null };
  } finally {
    await options.staged.remove(temporary);
  }
}

async function fillAndClose(handle: FileHandle, content: Readable, mode: number): Promise<Pick<FileWritten, 'sha256' | 'bytes'>> {
  try {
    const written = await fill(handle, content);
    await handle.chmod(mode);
    return written;
  } finally {
    await handle.close();
  }
}

async function fill(handle: FileHandle, content: Readable): Promise<Pick<FileWritten, 'sha256' | 'bytes'>> {
  const hash = createHash('sha256');
  let bytes = 0;
  for await (const chunk of content as AsyncIterable<Buffer>) {
    if (bytes + chunk.length > maxFileBytes) throw new KeeperError('AF_TOO_LARGE', `the content is over ${maxFileBytes} bytes`);
    hash.update(chunk);
    await handle.appendFile(chunk);
    bytes += chunk.length;
  }
  return { sha256: hash.digest('hex'), bytes };
}

/** Permission bits of the regular file that is replaced; null when there is none. */
async function modeOf(target: string, path: string): Promise<number | null> {
  const stat = await ifThere(lstat(target));
  if (stat === null) return null;
  if (!stat.isFile()) throw new KeeperError('AF_FILE_NOT_REGULAR', `${path} exists and is not a regular file`);
  return stat.mode & 0o777;
}

/**
 * Writes a whole file if it has no more syntax errors than the one it replaces. A file too large to edit is not
 * checked. @throws KeeperError as {@link writeFile}, and `AF_EDIT_SYNTAX`
 */
export async function writeChecked(
  roots: readonly string[],
  path: string,
  content: Buffer,
  options: WriteOptions & { readonly checkSyntax: SyntaxCheck },
): Promise<FileWritten> {
  const before = await readWhole(roots, path, editBounds.fileBytes).catch((error: unknown) => {
    if (error instanceof KeeperError && (error.code === 'AF_FILE_NOT_FOUND' || error.code === 'AF_TOO_LARGE')) return null;
    throw error;
  });
  const syntax = await options.checkSyntax({ path, before, after: content });
  return { ...(await writeFile(roots, path, Readable.from([content]), options)), syntax };
}
