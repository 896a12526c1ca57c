import fs from 'node:fs';
import { dirname, join } from 'node:path';

/** Calls by which the store changes its files. */
const CHANGES = ['writeSync', 'writeFileSync', 'renameSync', 'rmSync', 'unlinkSync', 'truncateSync', 'ftruncateSync', 'mkdirSync'] as const;

/**
 * Losses by a power failure: contents written to a file since its last sync (a file system that keeps its names in
 * order), or also all names created, removed or moved since the last sync of their directory.
 */
export type Loss = 'Contents' | 'ContentsAndNames';

/** The store as it is after a loss of power. */
export interface AfterLoss {
  readonly dir: string;
  readonly loss: Loss;
  /** Promises that the job had made before that point. */
  readonly promised: readonly string[];
}

interface Name {
  readonly ino: number;
  readonly directory: boolean;
}

/** Durable bytes and names of a directory tree, by inode. */
class Disk {
  readonly #contents = new Map<number, Buffer>();
  readonly #names = new Map<number, ReadonlyMap<string, Name>>();

  /** A reused inode is empty, whatever had its number before. */
  made(path: string): void {
    const { ino } = fs.lstatSync(path);
    this.#contents.delete(ino);
    this.#names.delete(ino);
  }

  synced(fd: number): void {
    const stat = fs.fstatSync(fd);
    const path = fs.readlinkSync(`/proc/self/fd/${fd}`);
    if (stat.isDirectory()) this.#names.set(stat.ino, namesOf(path));
    else this.#contents.set(stat.ino, fs.readFileSync(path));
  }

  /** Writes the remaining state of a directory. */
  leave(dir: string, to: string, loss: Loss): void {
    fs.mkdirSync(to, { recursive: true });
    const names = loss === 'Contents' ? namesOf(dir) : (this.#names.get(fs.lstatSync(dir).ino) ?? new Map<string, Name>());
    this.#fill(names, to, loss, dir);
  }

  #fill(names: ReadonlyMap<string, Name>, to: string, loss: Loss, from: string | null): void {
    for (const [name, { ino, directory }] of names) {
      if (!directory) {
        fs.writeFileSync(join(to, name), this.#contents.get(ino) ?? '');
        continue;
      }
      fs.mkdirSync(join(to, name));
      const inside = from === null ? null : join(from, name);
      const below = loss === 'Contents' && inside !== null ? namesOf(inside) : (this.#names.get(ino) ?? new Map<string, Name>());
      this.#fill(below, join(to, name), loss, inside);
    }
  }
}

function namesOf(dir: string): ReadonlyMap<string, Name> {
  const of = (name: string): Name => {
    const stat = fs.lstatSync(join(dir, name));
    return { ino: stat.ino, directory: stat.isDirectory() };
  };
  return new Map(fs.readdirSync(dir).map((name) => [name, of(name)]));
}

type Call = (...args: unknown[]) => unknown;
const SYNCS = ['fsyncSync', 'fdatasyncSync'] as const;

/** Sits between the store and the file system, and records the state after a loss of power. */
class Watch {
  readonly made: AfterLoss[] = [];
  readonly promised = new Set<string>();
  readonly #disk = new Disk();
  readonly #real = { ...fs };
  readonly #mutable = fs as unknown as Record<string, Call>;
  readonly #dir: string;
  readonly #copies: string;
  /** Set while calls are our own. */
  #off = false;

  constructor(dir: string, copies: string) {
    this.#dir = dir;
    this.#copies = copies;
  }

  begin(): void {
    for (const name of CHANGES)
      this.#wrap(name, (call, [where]) => {
        if (this.#inside(where)) this.lose();
        return name === 'writeFileSync' || name === 'mkdirSync' ? this.#making(call, where) : call();
      });
    this.#wrap('openSync', (call, [path]) => this.#making(call, path));
    for (const name of SYNCS)
      this.#wrap(name, (call, [fd]) => {
        call();
        this.#unwatched(() => this.#disk.synced(fd as number));
      });
    this.#mutable['fdatasync'] = (fd, reported) =>
      this.#real.fdatasync(fd as number, (error) => {
        this.#unwatched(() => this.#disk.synced(fd as number));
        (reported as Call)(error);
      });
  }

  end(): void {
    for (const name of [...CHANGES, ...SYNCS, 'openSync', 'fdatasync'] as const) this.#mutable[name] = this.#real[name] as unknown as Call;
  }

  /** The power fails now. */
  lose(): void {
    this.#unwatched(() => {
      for (const loss of ['Contents', 'ContentsAndNames'] as const) {
        const after = { dir: join(this.#copies, String(this.made.length)), loss, promised: [...this.promised] };
        this.#disk.leave(this.#dir, after.dir, loss);
        this.made.push(after);
      }
    });
  }

  #wrap(
    name: (typeof CHANGES)[number] | (typeof SYNCS)[number] | 'openSync',
    around: (call: () => unknown, args: unknown[]) => unknown,
  ): void {
    const original = this.#real[name] as unknown as Call;
    this.#mutable[name] = (...args) => (this.#off ? original(...args) : around(() => this.#unwatched(() => original(...args)), args));
  }

  #making(call: () => unknown, path: unknown): unknown {
    const fresh = typeof path === 'string' && path.startsWith(`${dirname(this.#dir)}/`) && !this.#real.existsSync(path);
    const result = call();
    if (fresh && this.#real.existsSync(path)) this.#unwatched(() => this.#disk.made(path));
    return result;
  }

  #inside(what: unknown): boolean {
    return String(typeof what === 'number' ? this.#real.readlinkSync(`/proc/self/fd/${what}`) : what).startsWith(`${this.#dir}/`);
  }

  #unwatched<T>(act: () => T): T {
    const was = this.#off;
    this.#off = true;
    try {
      return act();
    } finally {
      this.#off = was;
    }
  }
}

/**
 * Runs `job` and keeps the state after a loss of power just before each change of `dir`, and at the end. The job
 * reports what it promises, and what it no longer promises.
 */
export async function powerLosses(
  dir: string,
  copies: string,
  job: (promised: Set<string>) => Promise<unknown>,
): Promise<readonly AfterLoss[]> {
  const watch = new Watch(dir, copies);
  watch.begin();
  try {
    await job(watch.promised);
  } finally {
    watch.end();
  }
  watch.lose();
  return watch.made;
}
