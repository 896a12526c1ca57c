// sandbox-image/keeper, snapshot/base: file access by path without following links. May import protocol alone.
import fs from 'node:fs';
import { SnapshotError } from './errors.ts';
import { displayPath, sysPath, type BytePath } from './pathBytes.ts';

/** Linux's number on every architecture that we build for; Node has no name for it. Opens no file, only names one. */
export const O_PATH = 0o10000000;

/** Compares with the kernel's name of the open file, which a link put in the way cannot forge. */
function standsAt(fd: number, abs: BytePath): boolean {
  return fs.readlinkSync(`/proc/self/fd/${fd}`, { encoding: 'latin1' }) === abs;
}

/** Opens the file at a path without links. @throws SnapshotError when a link was put in the way meanwhile, or it was moved */
export function openAt(abs: BytePath, flags: number): number {
  const fd = fs.openSync(sysPath(abs), flags | fs.constants.O_NOFOLLOW);
  if (standsAt(fd, abs)) return fd;
  fs.closeSync(fd);
  throw new SnapshotError('AF_SNAPSHOT_UNREADABLE', `${displayPath(abs)} was moved while it was opened, or a link leads there`);
}

/** Names in a folder, sorted; never those of a folder elsewhere. @throws SnapshotError */
export function namesAt(abs: BytePath): BytePath[] {
  const fd = openAt(abs, fs.constants.O_RDONLY | fs.constants.O_DIRECTORY);
  try {
    return fs.readdirSync(`/proc/self/fd/${fd}`, { encoding: 'latin1' }).sort();
  } finally {
    fs.closeSync(fd);
  }
}

/** Sets the mode of the file at a path without links; false when a link was put in the way. */
export function chmodAt(abs: BytePath, mode: number): boolean {
  const fd = fs.openSync(sysPath(abs), O_PATH | fs.constants.O_NOFOLLOW);
  try {
    const there = standsAt(fd, abs);
    if (there) fs.chmodSync(`/proc/self/fd/${fd}`, mode);
    return there;
  } finally {
    fs.closeSync(fd);
  }
}

/**
 * Opens files folder by folder, as a walk meets them: the kernel is asked for the name of a folder once, and files are opened in
 * the folder that is held. For one walk: a folder that is replaced by another one is not noticed.
 */
export class FolderOpener {
  #path: BytePath = '';
  #fd = -1;

  /** @throws SnapshotError when a link was put in the way of the folder, or it was moved */
  open(abs: BytePath, flags: number): number {
    const cut = abs.lastIndexOf('/');
    const folder = abs.slice(0, cut);
    if (this.#fd === -1 || folder !== this.#path) {
      this.close();
      this.#fd = openAt(folder, O_PATH | fs.constants.O_DIRECTORY);
      this.#path = folder;
    }
    return fs.openSync(sysPath(`/proc/self/fd/${this.#fd}${abs.slice(cut)}`), flags | fs.constants.O_NOFOLLOW);
  }

  close(): void {
    if (this.#fd !== -1) fs.closeSync(this.#fd);
    this.#fd = -1;
  }
}
