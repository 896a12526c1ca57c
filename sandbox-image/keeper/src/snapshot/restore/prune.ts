import fs from 'node:fs';
import { randomBytes } from 'node:crypto';
import type { RootBytes } from '../engine.ts';
import { errnoOf } from '../errors.ts';
import type { Manifest, ManifestEntry } from '../manifest.ts';
import { decodePath, sysPath, type BytePath } from '../pathBytes.ts';
import type { Slices } from '../slices.ts';
import { chmodNoFollow, Reach } from './reach.ts';

/** A directory below a longer path is moved to the top of its root, and its path is short again. */
const LONG_PATH = 4095;
const OWNER_ALL = 0o700;

/**
 * Removes what a snapshot lacks, and files that have another size there, without ever holding the
 * tree: for one that is too large, too deep or too long to be scanned. What is left has at most the
 * paths of the snapshot. Symlinks are never followed. Returns how many paths were removed.
 */
export async function prune(goal: Manifest, roots: readonly RootBytes[], slices: Slices): Promise<number> {
  const wanted = new Map(goal.entries.map((entry) => [entry.path, entry]));
  const left = goal.skipped.filter(({ kind }) => kind !== 'acl' && kind !== 'capability');
  const kept = new Set(left.map(({ path }) => decodePath(Buffer.from(path, 'utf8').toString('latin1'))));
  let removed = 0;
  for (const root of roots) {
    const reach = new Reach(root.path);
    const remover = new Remover(reach, slices);
    try {
      const stack: BytePath[] = [''];
      for (let dir = stack.pop(); dir !== undefined; dir = stack.pop()) {
        for (const name of namesOf(dir, reach)) {
          const [below, path] = [join(dir, name), join(root.name, join(dir, name))];
          const entry = wanted.get(path);
          if (kept.has(path) || (entry !== undefined && fits(reach.at(below), entry))) {
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

/** Same type and, for a file, the same size: then reading it costs no more than reading the snapshot's. */
function fits(at: string | Buffer, entry: ManifestEntry): boolean {
  const stat = fs.lstatSync(at);
  if (entry.type === 'd') return stat.isDirectory();
  return entry.type === 'l' ? stat.isSymbolicLink() : stat.isFile() && stat.size === entry.size;
}

/** A directory of ours that its mode closes is opened; the restore gives it its mode. */
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

/** Removes whole trees of any depth and mode. */
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

  /** Unlinks a name; a directory goes to `pending` instead, from the top of the root if its path is too long to be walked often. */
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
