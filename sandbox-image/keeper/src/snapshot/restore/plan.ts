import { decodePath } from '@agentfleet/protocol/keeper';
import { compareManifests, type RootBytes, type Change, type ManifestEntry, type Tree, type Manifest } from '../base/manifest.ts';
import { byBytes, parentOf, type BytePath, sysPath } from '../base/pathBytes.ts';
import fs from 'node:fs';
import { randomBytes } from 'node:crypto';
import { errnoOf } from '../base/errors.ts';
import type { Slices } from '../base/slices.ts';
import { chmodNoFollow, Reach } from './reach.ts';

/** The steps of a restore, in the order of the fields. Pure data; {@link applyPlan} executes it. */
export interface RestorePlan {
  /** Directories that must be opened up to work below them or to see that they are empty, parents first. */
  readonly open: readonly ManifestEntry[];
  /** Deepest first, so that a directory is empty when its turn comes. */
  readonly remove: readonly { readonly path: BytePath; readonly directory: boolean }[];
  /** Parents first. */
  readonly mkdir: readonly ManifestEntry[];
  /** Files and symlinks to create; the first name of a hard-link group comes before the others. */
  readonly place: readonly ManifestEntry[];
  /** Files of which only the mode differs. */
  readonly chmod: readonly ManifestEntry[];
  /** Files and directories whose extended attributes must be set, in any order. */
  readonly xattrs: readonly ManifestEntry[];
  /** Modification times to set: files and links, then directories, deepest first. */
  readonly times: readonly ManifestEntry[];
  /** Final modes of directories, deepest first. */
  readonly dirModes: readonly ManifestEntry[];
  readonly created: number;
  readonly modified: number;
  readonly deleted: number;
}

const OWNER_ALL = 0o700;

/** Plans current → target. Fifos, sockets and devices that are new or in the way are removed. */
export function planRestore(current: Tree, target: Tree): RestorePlan {
  const changes = compareManifests(current, target);
  const specials = extraSpecials(current, target);
  const above = ancestorsOf([...changes.map(({ path }) => path), ...specials]);
  const leaving = new Set(changes.filter(goes).map(({ path }) => path));
  const open = current.entries.filter((entry) => isClosed(entry) && (leaving.has(entry.path) || above.has(entry.path)));
  const reopened = new Set(open.map((entry) => entry.path));
  const mkdir = present(changes.filter(({ from, to }) => to?.type === 'd' && from?.type !== 'd'));
  const place = present(changes.filter(needsContent));
  const remove = [
    ...changes.filter(goes).map(({ path, from }) => ({ path, directory: from?.type === 'd' })),
    ...specials.map((path) => ({ path, directory: false })),
  ].sort((a, b) => (a.path < b.path ? 1 : -1));
  const disturbed = new Set([...remove, ...mkdir, ...place].map(({ path }) => parentOf(path)));
  const changed = new Set(changes.map(({ path }) => path));
  const dirs = target.entries.filter((entry) => entry.type === 'd').reverse();
  return {
    open,
    remove,
    mkdir,
    place,
    chmod: present(changes.filter((change) => change.to?.type === 'f' && !needsContent(change) && change.from?.mode !== change.to.mode)),
    xattrs: present(changes.filter(needsXattrs)),
    times: [
      ...present(changes).filter((entry) => entry.type !== 'd'),
      ...dirs.filter((entry) => changed.has(entry.path) || disturbed.has(entry.path)),
    ],
    dirModes: dirs.filter((entry) => changed.has(entry.path) || reopened.has(entry.path)),
    created: changes.filter(({ from }) => from === null).length,
    modified: changes.filter(({ from, to }) => from !== null && to !== null).length,
    deleted: changes.filter(({ to }) => to === null).length,
  };
}

function ancestorsOf(paths: readonly BytePath[]): ReadonlySet<BytePath> {
  const above = new Set<BytePath>();
  for (const path of paths) {
    for (let directory = parentOf(path); directory !== '' && !above.has(directory); directory = parentOf(directory)) above.add(directory);
  }
  return above;
}

function isClosed(entry: ManifestEntry): boolean {
  return entry.type === 'd' && (entry.mode & OWNER_ALL) !== OWNER_ALL;
}

function needsContent({ from, to }: Change): boolean {
  if (to === null || to.type === 'd') return false;
  return from === null || from.type !== to.type || from.hash !== to.hash || from.link !== to.link;
}

/** A recreated entry has no attributes. */
function needsXattrs(change: Change): boolean {
  const { from, to } = change;
  if (to === null || to.type === 'l') return false;
  return (needsContent(change) || from?.type !== to.type ? '' : from.xattrs) !== to.xattrs;
}

/** A path is removed when it is gone from the target, or when a directory is on either side of a type change. */
function goes({ from, to }: Change): boolean {
  if (from === null) return false;
  return to === null || (from.type !== to.type && (from.type === 'd' || to.type === 'd'));
}

function present(changes: readonly Change[]): ManifestEntry[] {
  return changes.map(({ to }) => to).filter((entry): entry is ManifestEntry => entry !== null);
}

/** Special files of the current tree that the target did not have at that path. */
function extraSpecials(current: Tree, target: Tree): BytePath[] {
  const special = (manifest: Tree) => manifest.skipped.filter(({ kind }) => kind === 'fifo' || kind === 'socket' || kind === 'device');
  const kept = new Set(special(target).map(({ path }) => path));
  const extra = special(current).filter(({ path }) => !kept.has(path));
  return extra.map(({ path }) => decodePath(Buffer.from(path, 'utf8').toString('latin1')));
}

/** A directory below a longer path is moved to the top of its root, and its path is short again. */
const LONG_PATH = 4095;

/**
 * Removes entries that a snapshot lacks, and files whose size differs there, without holding the tree in memory: for a
 * tree too large, too deep or too long to scan. At most the paths of the snapshot are left. Symlinks are never
 * followed. Returns how many paths were removed.
 */
export async function prune(goal: Manifest, roots: readonly RootBytes[], slices: Slices): Promise<number> {
  const wanted = new Map(goal.entries.map((entry) => [entry.path, entry]));
  const left = goal.skipped.filter(({ kind }) => kind !== 'acl' && kind !== 'capability');
  const kept = new Set(left.map(({ path }) => decodePath(Buffer.from(path, 'utf8').toString('latin1'))));
  let removed = 0;
  for (const root of roots) {
    const reach = new Reach(root.path);
    const remover = new Remover(reach, slices);
    const { dev } = fs.lstatSync(sysPath(root.path));
    try {
      const stack: BytePath[] = [''];
      for (let dir = stack.pop(); dir !== undefined; dir = stack.pop()) {
        for (const name of namesOf(dir, reach)) {
          const [below, path] = [join(dir, name), join(root.name, join(dir, name))];
          const entry = wanted.get(path);
          const stays = entry === undefined ? kept.has(path) && isLeftOut(reach.at(below), dev) : fits(reach.at(below), entry);
          if (stays) {
            if (entry?.type === 'd') stack.push(opened(below, reach));
          } else await remover.remove(dir, name);
          if (slices.due()) await slices.pause();
        }
      }
    } finally {
      reach.close();
    }
    removed += remover.count;
  }
  return removed;
}

/** Removes paths below a root, with what they hold. Returns how many paths were removed. */
export async function removeAll(root: RootBytes, paths: readonly BytePath[], slices: Slices): Promise<number> {
  const reach = new Reach(root.path);
  const remover = new Remover(reach, slices);
  try {
    // A path comes before the folder that holds it.
    for (const path of paths.toSorted(byBytes).reverse()) await remover.remove(parentOf(path), path.slice(path.lastIndexOf('/') + 1));
  } finally {
    reach.close();
  }
  return remover.count;
}

/** True for what a scan passes over: a special file, a mount, and what is not ours and so may be closed to us. */
function isLeftOut(at: string | Buffer, device: number): boolean {
  try {
    const stat = fs.lstatSync(at);
    const ordinary = stat.isFile() || stat.isDirectory() || stat.isSymbolicLink();
    return !ordinary || stat.dev !== device || stat.uid !== process.geteuid?.();
  } catch (error) {
    if (errnoOf(error) !== 'EACCES') throw error;
    return true;
  }
}

/**
 * Same type and, for a file, the same size: then reading it costs no more than reading the snapshot's. A further name
 * of a file never fits: it may now be a file of its own, whose bytes would count again.
 */
function fits(at: string | Buffer, entry: ManifestEntry): boolean {
  const stat = fs.lstatSync(at);
  if (entry.type === 'd') return stat.isDirectory();
  return entry.type === 'l' ? stat.isSymbolicLink() : stat.isFile() && stat.size === entry.size && entry.link === '';
}

/** Opens a directory of ours that its mode closes; the restore sets its mode. */
function opened(path: BytePath, reach: Reach): BytePath {
  openUp(reach.at(path));
  return path;
}

function openUp(at: string | Buffer): void {
  if ((fs.lstatSync(at).mode & OWNER_ALL) !== OWNER_ALL) chmodNoFollow(at, OWNER_ALL);
}

function namesOf(path: BytePath, reach: Reach): BytePath[] {
  return fs.readdirSync(reach.folder(path), { encoding: 'latin1' });
}

/** Below the root, which is the empty path. */
function join(dir: BytePath, name: BytePath): BytePath {
  return dir === '' ? name : `${dir}/${name}`;
}

class Remover {
  readonly #reach: Reach;
  readonly #slices: Slices;
  count = 0;

  constructor(reach: Reach, slices: Slices) {
    this.#reach = reach;
    this.#slices = slices;
  }

  async remove(parent: BytePath, name: BytePath): Promise<void> {
    const pending: BytePath[] = [];
    this.#drop(parent, name, pending);
    for (let dir = pending.at(-1); dir !== undefined; dir = pending.at(-1)) {
      const before = pending.length;
      for (const child of namesOf(opened(dir, this.#reach), this.#reach)) {
        this.#drop(dir, child, pending);
        if (this.#slices.due()) await this.#slices.pause();
      }
      if (pending.length > before) continue;
      fs.rmdirSync(this.#reach.at(dir));
      pending.pop();
    }
  }

  /**
   * Unlinks a name; a directory is moved to `pending` instead, from the top of the root if its path is too long to be
   * walked often.
   */
  #drop(parent: BytePath, name: BytePath, pending: BytePath[]): void {
    const path = join(parent, name);
    try {
      this.count++;
      fs.unlinkSync(this.#reach.at(path));
    } catch (error) {
      if (errnoOf(error) !== 'EISDIR') throw error;
      if (path.length <= LONG_PATH) return void pending.push(path);
      openUp(this.#reach.at(path)); // moving a directory writes its parent into it
      const top = `.agentfleet-prune-${randomBytes(8).toString('hex')}`;
      // Reached through the folder that holds it: the way to the top drops no step of it.
      fs.renameSync(this.#reach.at(path), sysPath(`${this.#reach.top}/${top}`));
      pending.push(top);
    }
  }
}
