import fs from 'node:fs';
import type { ManifestEntry, RootBytes } from '../base/manifest.ts';
import { randomBytes } from 'node:crypto';
import { errnoOf } from '../base/errors.ts';
import { writeSparse } from '../objects/stored.ts';
import type { ObjectStore } from '../objects/objectStore.ts';
import { type BytePath, sysPath } from '../base/pathBytes.ts';
import { Reach } from './reach.ts';

const FOLDER = fs.constants.O_RDONLY | fs.constants.O_DIRECTORY | fs.constants.O_NOFOLLOW;
const NEW_FILE = fs.constants.O_WRONLY | fs.constants.O_CREAT | fs.constants.O_EXCL | fs.constants.O_NOFOLLOW;

/** Maps manifest paths to paths for system calls, which no link leads out of the roots. To be closed. */
export class RootMap {
  readonly #roots: ReadonlyMap<string, BytePath>;
  readonly #reaches = new Map<string, Reach>();

  constructor(roots: readonly RootBytes[]) {
    this.#roots = new Map(roots.map(({ name, path }) => [name, path]));
  }

  rootOf(path: BytePath): BytePath {
    const root = this.#roots.get(path.slice(0, path.indexOf('/')));
    if (root === undefined) throw new Error(`no root holds ${path}`);
    return root;
  }

  relative(path: BytePath): BytePath {
    return path.slice(path.indexOf('/') + 1);
  }

  bytes(path: BytePath): BytePath {
    return this.rootOf(path) + path.slice(path.indexOf('/'));
  }

  /** Good until the next one below the same root is asked for. */
  absolute(path: BytePath): string | Buffer {
    return this.#reach(this.rootOf(path), 'first').at(this.relative(path));
  }

  /** The same, good beside one of `absolute`. */
  source(path: BytePath): string | Buffer {
    return this.#reach(this.rootOf(path), 'second').at(this.relative(path));
  }

  close(): void {
    for (const reach of this.#reaches.values()) reach.close();
    this.#reaches.clear();
  }

  #reach(root: BytePath, use: 'first' | 'second'): Reach {
    const key = `${use} ${root}`;
    const reach = this.#reaches.get(key) ?? new Reach(root);
    this.#reaches.set(key, reach);
    return reach;
  }
}

/**
 * A directory of a random name at the top of each root, where files are written and checked before they are renamed
 * into the tree. A journal in the store names them, so that leftovers of a killed restore are removed at the next start
 * and never taken for user files.
 */
export class Staging {
  readonly #journal: string;
  readonly #dirs = new Map<BytePath, BytePath>();
  /** Used through these descriptors: another directory may later be at their paths. */
  readonly #open = new Map<BytePath, number>();
  #count = 0;

  constructor(journal: string) {
    this.#journal = journal;
  }

  /** Creates the directory in these roots, which are open. */
  open(roots: Iterable<BytePath>): void {
    const name = `.agentfleet-restore-${randomBytes(8).toString('hex')}`;
    for (const root of new Set(roots)) this.#dirs.set(root, `${root}/${name}`);
    fs.writeFileSync(this.#journal, JSON.stringify([...this.#dirs.values()]), { mode: 0o600 });
    for (const [root, dir] of this.#dirs) {
      fs.mkdirSync(sysPath(dir), 0o700);
      this.#open.set(root, fs.openSync(sysPath(dir), FOLDER));
    }
  }

  /** Writes one file (content verified, mode set, zeros as holes) or symlink and returns its path. */
  write(entry: ManifestEntry, root: BytePath, store: ObjectStore): BytePath {
    const staged = this.name(root);
    if (entry.type === 'l') {
      fs.symlinkSync(sysPath(entry.link), sysPath(staged));
      return staged;
    }
    const fd = fs.openSync(sysPath(staged), NEW_FILE, 0o600);
    try {
      let size = 0;
      for (const piece of store.chunks(entry.hash)) {
        writeSparse(fd, piece, size);
        size += piece.length;
      }
      // A hole at the end was not written.
      if (fs.fstatSync(fd).size < size) fs.ftruncateSync(fd, size);
      fs.fchmodSync(fd, entry.mode);
    } finally {
      fs.closeSync(fd);
    }
    return staged;
  }

  name(root: BytePath): BytePath {
    const fd = this.#open.get(root);
    if (fd === undefined) throw new Error(`no staging directory in ${root}`);
    return `/proc/self/fd/${fd}/${this.#count++}`;
  }

  close(): void {
    for (const fd of this.#open.values()) fs.closeSync(fd);
    this.#open.clear();
    for (const dir of this.#dirs.values()) removeFlat(dir);
    this.#dirs.clear();
    fs.rmSync(this.#journal, { force: true });
  }

  recover(): void {
    try {
      const dirs = JSON.parse(fs.readFileSync(this.#journal, 'utf8')) as BytePath[];
      for (const dir of dirs) removeFlat(dir);
    } catch (error) {
      if (errnoOf(error) !== 'ENOENT' && !(error instanceof SyntaxError)) throw error;
    }
    fs.rmSync(this.#journal, { force: true });
  }
}

/** Removes a directory that holds only files and links; does nothing when it is missing or something else. */
function removeFlat(dir: BytePath): void {
  let fd: number;
  try {
    fd = fs.openSync(sysPath(dir), FOLDER);
  } catch (error) {
    if (!['ENOENT', 'ENOTDIR'].includes(errnoOf(error))) throw error;
    return;
  }
  try {
    const inside = `/proc/self/fd/${fd}`;
    for (const name of fs.readdirSync(inside, { encoding: 'latin1' })) fs.unlinkSync(sysPath(`${inside}/${name}`));
    fs.rmdirSync(sysPath(dir));
  } catch (error) {
    if (!['ENOENT', 'ENOTDIR'].includes(errnoOf(error))) throw error;
  } finally {
    fs.closeSync(fd);
  }
}
