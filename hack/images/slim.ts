// hack, images: removal of files from a root file system. Of other folders imports hack/cache, hack/cluster/build.
import { chmod, lstat, readdir, rm, rmdir } from 'node:fs/promises';
import { join, matchesGlob } from 'node:path';

/** Rules for the files that a root file system loses. */
interface SlimRules {
  readonly keep?: readonly string[] | undefined;
  readonly drop: readonly string[];
}

/** Reports whether the file at `path` (relative to the root, no leading slash) stays. */
export function staysInRootfs(path: string, rules: SlimRules): boolean {
  if (rules.drop.some((glob) => matchesGlob(path, glob))) return false;
  return rules.keep === undefined || rules.keep.some((glob) => matchesGlob(path, glob));
}

/** Folders that a container needs as mount points or that programs expect, empty or not. */
const standing: ReadonlySet<string> = new Set(['dev', 'etc', 'home', 'proc', 'run', 'sys', 'tmp', 'usr', 'var', 'var/tmp', 'var/log']);

/**
 * Removes files that do not stay, then emptied folders, and the set-user-id and set-group-id bits of the rest: no
 * program of an image may gain rights by being run. With `keep`, every empty folder is removed.
 */
export async function slimRootfs(root: string, rules: SlimRules): Promise<void> {
  await slimFolder(root, '', rules);
}

async function slimFolder(root: string, folder: string, rules: SlimRules): Promise<boolean> {
  let left = 0;
  const names = await readdir(join(root, folder));
  for (const name of names) {
    const path = folder === '' ? name : `${folder}/${name}`;
    const info = await lstat(join(root, path));
    if (info.isDirectory()) {
      const emptied = await slimFolder(root, path, rules);
      if (!emptied || (rules.keep === undefined && standing.has(path))) left += 1;
      else await rmdir(join(root, path));
    } else if (staysInRootfs(path, rules)) {
      left += 1;
      if (!info.isSymbolicLink() && info.mode & 0o6000) await chmod(join(root, path), info.mode & 0o1777);
    } else {
      await rm(join(root, path));
    }
  }
  const info = await lstat(join(root, folder));
  if (info.mode & 0o6000) await chmod(join(root, folder), info.mode & 0o1777);
  return left === 0;
}
