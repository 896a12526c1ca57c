// sandbox-image/keeper, files: temporary files beside their targets. May import snapshot, base and protocol; not exec.
import { mkdir, readdir, readlink, rm, symlink } from 'node:fs/promises';
import { basename, join } from 'node:path';

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

  /** Removes the file, if it is still there, and then its link. */
  async remove(path: string): Promise<void> {
    await rm(path, { force: true });
    await rm(join(this.#folder, basename(path)), { force: true });
  }

  /** Removes what a killed keeper left. */
  async recover(): Promise<void> {
    for (const name of await readdir(this.#folder)) await this.remove(await readlink(join(this.#folder, name)));
  }
}
