// hack, cluster/host: mounts of the host, and their removal. Of other folders imports hack/cache only.
import { readFile } from 'node:fs/promises';
import { execa } from 'execa';

/** The needed parts of one line of /proc/self/mountinfo. */
export interface Mount {
  readonly path: string;
  /** Whether mounts below it propagate to peers (an optional field `shared:N`). */
  readonly shared: boolean;
}

/** Parses mountinfo (proc(5)); paths have spaces and backslashes as octal escapes. In the order of mounting. */
export function parseMounts(mountinfo: string): Mount[] {
  return mountinfo
    .split('\n')
    .filter((line) => line.includes(' - '))
    .map((line) => {
      const fields = line.slice(0, line.indexOf(' - ')).split(' ');
      const path = (fields[4] ?? '').replaceAll(/\\([0-7]{3})/g, (_, digits: string) => String.fromCharCode(Number.parseInt(digits, 8)));
      return { path, shared: fields.slice(6).some((field) => field.startsWith('shared:')) };
    });
}

/** The mounts of this process's namespace. */
export async function mounts(): Promise<Mount[]> {
  return parseMounts(await readFile('/proc/self/mountinfo', 'utf8'));
}

/** Reports whether a path is one of the folders or below one of them. */
export function isBelow(path: string, folders: readonly string[]): boolean {
  return folders.some((folder) => path === folder || path.startsWith(`${folder}/`));
}

/** The mount points at or below the folders, last mounted first, which is the order to unmount them. */
export async function mountsBelow(folders: readonly string[]): Promise<string[]> {
  const all = await mounts();
  return all
    .filter(({ path }) => isBelow(path, folders))
    .map(({ path }) => path)
    .reverse();
}

/** Unmounts everything at or below the folders; a busy mount is detached and vanishes with its last user. */
export async function unmountBelow(folders: readonly string[]): Promise<void> {
  for (const path of await mountsBelow(folders)) {
    const { exitCode } = await execa('umount', [path], { reject: false });
    if (exitCode !== 0) await execa('umount', ['-l', path], { reject: false });
  }
}

/** The mount points that hold the folders: for each the longest path above it, and of mounts at one path the topmost. */
export function holders(all: readonly Mount[], folders: readonly string[]): Mount[] {
  const found = folders.map((folder) => {
    const above = all.filter(({ path }) => path === '/' || isBelow(folder, [path]));
    const longest = Math.max(...above.map(({ path }) => path.length));
    return above.findLast(({ path }) => path.length === longest);
  });
  return [...new Set(found)].filter((mount) => mount !== undefined);
}

/**
 * Makes mounts below these mount points visible in other namespaces: the kubelet mounts paths that containers must see.
 * Only the ones with our folders, not everything below `/`: a mount that another one covers could not be restored.
 */
export async function shareMounts(paths: readonly string[]): Promise<void> {
  for (const path of paths) await execa('mount', ['--make-shared', path]);
}

/** Makes these mount points private again, where they still exist. */
export async function unshareMounts(paths: readonly string[]): Promise<void> {
  const present = new Set((await mounts()).filter(({ shared }) => shared).map(({ path }) => path));
  for (const path of new Set(paths)) {
    if (present.has(path)) await execa('mount', ['--make-private', path], { reject: false });
  }
}
