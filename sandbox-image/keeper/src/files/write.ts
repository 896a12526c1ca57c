import { createHash } from 'node:crypto';
import { constants } from 'node:fs';
import { type FileHandle, lstat, mkdir, open, readdir, readlink, rename, rm, symlink } from 'node:fs/promises';
import { basename, join } from 'node:path';
import { Readable } from 'node:stream';
import { type FileWritten, editBounds, maxFileBytes } from '@agentfleet/protocol/keeper';
import { KeeperError } from '../base/failure.ts';
import { ifThere } from '../base/stored.ts';
import { readWhole } from './tree/look.ts';
import { resolveInRoots } from './tree/resolve.ts';
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
    const written = await fill(await open(temporary, flags, 0o600), content, options.mode ?? oldMode ?? 0o644);
    options.beforeCommit();
    await rename(temporary, target);
    return { path: target, ...written, created: oldMode === null };
  } finally {
    await options.staged.remove(temporary);
  }
}

/** Closes the file. */
async function fill(opened: FileHandle, content: Readable, mode: number): Promise<Pick<FileWritten, 'sha256' | 'bytes'>> {
  await using handle = opened;
  const hash = createHash('sha256');
  let bytes = 0;
  for await (const chunk of content as AsyncIterable<Buffer>) {
    if (bytes + chunk.length > maxFileBytes) throw new KeeperError('AF_TOO_LARGE', `the content is over ${maxFileBytes} bytes`);
    hash.update(chunk);
    await handle.appendFile(chunk);
    bytes += chunk.length;
  }
  await handle.chmod(mode);
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

/**
 * Files that are written beside their targets and then renamed. A link in the store, `<store>/writes/<name>`, leads to
 * each: what a killed keeper left in the tree is removed by its path, and never taken for a file of the user.
 */
export class StagedFiles {
  readonly #folder: string;
  readonly #random: (bytes: number) => Buffer;

  private constructor(folder: string, random: (bytes: number) => Buffer) {
    this.#folder = folder;
    this.#random = random;
  }

  static async open(folder: string, random: (bytes: number) => Buffer): Promise<StagedFiles> {
    await mkdir(folder, { recursive: true, mode: 0o700 });
    return new StagedFiles(folder, random);
  }

  /** Returns a free path in a folder of the roots; to be removed when its file has been renamed, or is given up. */
  async add(folder: string): Promise<string> {
    const path = join(folder, `.agentfleet-${this.#random(8).toString('hex')}.tmp`);
    // A link is there whole or not at all.
    await symlink(path, join(this.#folder, basename(path)));
    return path;
  }

  async remove(path: string): Promise<void> {
    await rm(path, { force: true });
    await rm(join(this.#folder, basename(path)), { force: true });
  }

  /** Removes what a killed keeper left. */
  async recover(): Promise<void> {
    for (const name of await readdir(this.#folder)) await this.remove(await readlink(join(this.#folder, name)));
  }
}
