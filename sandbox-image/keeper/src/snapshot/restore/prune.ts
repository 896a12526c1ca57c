import fs from 'node:fs';
import { randomBytes } from 'node:crypto';
import type { RootBytes } from '../engine.ts';
import { errnoOf } from '../errors.ts';
import type { Manifest, ManifestEntry } from '../manifest.ts';
import { decodePath, sysPath, type BytePath } from '../pathBytes.ts';
import type { Slices } from '../slices.ts';

/** PATH_MAX without its NUL. */
const MAX_PATH = 4095;
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
    const remover = new Remover(root.path, slices);
    const stack: { abs: BytePath; path: BytePath }[] = [{ abs: root.path, path: root.name }];
    for (let dir = stack.pop(); dir !== undefined; dir = stack.pop()) {
      for (const name of namesOf(dir.abs)) {
        const [abs, path] = [`${dir.abs}/${name}`, `${dir.path}/${name}`];
        const entry = wanted.get(path);
        if (kept.has(path) || (entry !== undefined && fits(abs, entry))) {
          if (entry?.type === 'd') stack.push({ abs: opened(abs), path });
        } else await remover.remove(dir.abs, name);
        if (slices.due()) await slices.pause();
      }
    }
    removed += remover.count;
  }
  return removed;
}

/** Same type and, for a file, the same size: then reading it costs no more than reading the snapshot's. */
function fits(abs: BytePath, entry: ManifestEntry): boolean {
  const stat = fs.lstatSync(sysPath(abs));
  if (entry.type === 'd') return stat.isDirectory();
  return entry.type === 'l' ? stat.isSymbolicLink() : stat.isFile() && stat.size === entry.size;
}

/** A directory of ours that its mode closes is opened; the restore gives it its mode. */
function opened(abs: BytePath): BytePath {
  if ((fs.lstatSync(sysPath(abs)).mode & OWNER_ALL) !== OWNER_ALL) fs.chmodSync(sysPath(abs), OWNER_ALL);
  return abs;
}

function namesOf(abs: BytePath): BytePath[] {
  return fs.readdirSync(sysPath(abs), { encoding: 'latin1' });
}

/** Removes whole trees of any depth and mode. */
class Remover {
  readonly #root: BytePath;
  readonly #slices: Slices;
  count = 0;

  constructor(root: BytePath, slices: Slices) {
    this.#root = root;
    this.#slices = slices;
  }

  async remove(parent: BytePath, name: BytePath): Promise<void> {
    const pending: BytePath[] = [];
    this.#drop(parent, name, pending);
    for (let dir = pending.at(-1); dir !== undefined; dir = pending.at(-1)) {
      const before = pending.length;
      for (const child of namesOf(opened(dir))) {
        this.#drop(dir, child, pending);
        if (this.#slices.due()) await this.#slices.pause();
      }
      if (pending.length > before) continue;
      fs.rmdirSync(sysPath(dir));
      pending.pop();
    }
  }

  /** Unlinks a name; a directory goes to `pending` instead, from the top of the root if its path is too long. */
  #drop(parent: BytePath, name: BytePath, pending: BytePath[]): void {
    const path = `${parent}/${name}`;
    const long = path.length > MAX_PATH;
    const fd = long ? fs.openSync(sysPath(parent), fs.constants.O_RDONLY | fs.constants.O_DIRECTORY | fs.constants.O_NOFOLLOW) : -1;
    const reach = long ? `/proc/self/fd/${fd}/${name}` : path;
    try {
      this.count++;
      fs.unlinkSync(sysPath(reach));
    } catch (error) {
      if (errnoOf(error) !== 'EISDIR') throw error;
      if (!long) return void pending.push(path);
      const top = `${this.#root}/.agentfleet-prune-${randomBytes(8).toString('hex')}`;
      opened(reach); // moving a directory writes its parent into it
      fs.renameSync(sysPath(reach), sysPath(top));
      pending.push(top);
    } finally {
      if (long) fs.closeSync(fd);
    }
  }
}
