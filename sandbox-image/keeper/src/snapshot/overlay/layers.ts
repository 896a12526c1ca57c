import fs from 'node:fs';
import { type Below, NOTHING, type TreeChanges } from '../scan/index.ts';
import type { RootBytes } from '../base/manifest.ts';
import { join } from 'node:path';
import { SnapshotError, errnoOf } from '../base/errors.ts';
import { type BytePath, bytesOf, sysPath } from '../base/pathBytes.ts';
import { readStored } from '../objects/stored.ts';

/** Mounted layers: numbers of `lower` from the top to the bottom. */
interface Stack {
  readonly lower: readonly number[];
  readonly upper: number;
}

/** State that must outlive the keeper. */
interface LedgerState extends Stack {
  readonly format: 1;
  /** The number of the next layer; never used twice. */
  readonly next: number;
  /** The layers of snapshots, from the top to the bottom. One that is not here has its contents in the store only. */
  readonly snapshots: Readonly<Record<string, readonly number[]>>;
}

/** Both are made in the first directory: a layer and its work directory must be on one file system. */
function layerPath(dir: string, layer: number, root: string): string {
  return join(dir, 'layers', String(layer), root);
}

function workPath(dir: string, layer: number, root: string): string {
  return join(dir, 'work', String(layer), root);
}

/**
 * Layers and their use, in one file that is replaced by rename: after a kill at any instant it has the state before or
 * after a step. It is written before a mount: the recorded stack is mounted again at the next start.
 */
export class Ledger {
  readonly #path: string;
  #state: LedgerState;

  /** @throws SnapshotError `AF_SNAPSHOT_CONFIG` when the file is there and is no ledger: without it the tree is not known. */
  constructor(dir: string) {
    this.#path = join(dir, 'ledger');
    this.#state = readState(this.#path) ?? { format: 1, lower: [0], upper: 1, next: 2, snapshots: {} };
  }

  get state(): LedgerState {
    return this.#state;
  }

  write(change: Partial<Omit<LedgerState, 'format'>>): void {
    const state = { ...this.#state, ...change };
    const temporary = `${this.#path}.tmp`;
    fs.writeFileSync(temporary, `${JSON.stringify(state)}\n`, { mode: 0o600 });
    fs.renameSync(temporary, this.#path);
    this.#state = state;
  }

  used(): Set<number> {
    const { lower, upper, snapshots } = this.#state;
    return new Set([...lower, upper, ...Object.values(snapshots).flat()]);
  }
}

function readState(path: string): LedgerState | null {
  const text = readStored(path);
  if (text === null) return null;
  const state = parse(text);
  if (state.format === 1 && Array.isArray(state.lower) && typeof state.upper === 'number' && typeof state.next === 'number')
    return state as LedgerState;
  throw new SnapshotError('AF_SNAPSHOT_CONFIG', `${path} is not a ledger of layers; the layers of the tree are not known`);
}

function parse(text: string): Partial<LedgerState> {
  try {
    return (JSON.parse(text) as Partial<LedgerState> | null) ?? {};
  } catch {
    return {};
  }
}

/**
 * Names in a layer: its files, its directories, and what it hides. Null when it cannot be known, because a directory of
 * it is closed to us or is gone.
 */
export function namesIn(dir: BytePath): Below | null {
  const list = (path: BytePath): Below => {
    const names = new Map<BytePath, Below | null>();
    for (const entry of fs.readdirSync(sysPath(path), { encoding: 'latin1', withFileTypes: true })) {
      names.set(entry.name, entry.isDirectory() ? list(`${path}/${entry.name}`) : null);
    }
    return names;
  };
  try {
    return list(dir);
  } catch (error) {
    if (['EACCES', 'ENOENT', 'ENOTDIR', 'ENAMETOOLONG'].includes(errnoOf(error))) return null;
    throw error;
  }
}

/** Union of two sets of names. Below a name that is no directory in one of them, anything may have changed. */
export function union(a: Below, b: Below): Below {
  if (a.size === 0) return b;
  const all = new Map(a);
  for (const [name, below] of b) {
    const known = all.get(name);
    all.set(name, known === undefined ? below : known === null || below === null ? null : union(known, below));
  }
  return all;
}

interface LayersOptions {
  /** A directory for the layers, on the file system of the volumes, that commands cannot reach. */
  readonly dir: string;
  readonly roots: readonly RootBytes[];
  readonly mounter: Mounter;
  readonly flattenOver: number;
  /** Background failures are reported here; they do no damage. */
  readonly onFailed: (error: unknown) => void;
}

/** Layers of all roots, and the mounted stack. One call at a time. */
export class Layers implements TreeChanges {
  readonly #options: LayersOptions;
  readonly #ledger: Ledger;
  /** The stack that was mounted at the last scan. */
  #seen: Stack | null = null;
  #mounted: Stack | null = null;
  #flat: { readonly layer: number; readonly of: readonly number[] } | null = null;
  #flattening: Promise<void> | null = null;
  /** The next layer, prepared in advance: the roots are frozen while they are switched. */
  #ahead: { readonly layer: number; readonly works: ReadonlyMap<string, string> } | null = null;

  constructor(options: LayersOptions) {
    this.#options = options;
    for (const kind of ['layers', 'work']) fs.mkdirSync(join(options.dir, kind), { recursive: true, mode: 0o700 });
    this.#ledger = new Ledger(options.dir);
  }

  /** Mounts the recorded stack; the first time, an empty tree. */
  async open(): Promise<void> {
    const { lower, upper } = this.#ledger.state;
    for (const { name, textPath } of this.#options.roots) {
      for (const layer of [...lower, upper]) this.#makeLayer(layer, name, textPath);
    }
    // A layer that a killed keeper prepared is not reused.
    const there = fs.readdirSync(join(this.#options.dir, 'layers')).map(Number).filter(Number.isInteger);
    this.#ledger.write({ next: Math.max(this.#ledger.state.next, ...there.map((layer) => layer + 1)) });
    await this.#mount({ lower, upper });
  }

  has(id: string): boolean {
    const layers = this.#ledger.state.snapshots[id];
    return layers !== undefined && layers.every((layer) => this.#exists(layer));
  }

  /** Freezes the changes since the last time; the tree stays the same. Without changes nothing is mounted. */
  async freeze(): Promise<void> {
    const { lower, upper } = this.#ledger.state;
    if (!this.#isEmpty(upper)) await this.#switchTo(this.#flattened([upper, ...lower]));
  }

  /** Switches the tree to a snapshot for which {@link has} returned true. */
  async switchTo(id: string): Promise<void> {
    await this.#switchTo(this.#ledger.state.snapshots[id] ?? []);
  }

  /** Binds the frozen stack to a snapshot; stacks of other ids than `ids` are dropped. */
  bind(id: string, ids: readonly string[]): void {
    const { lower, snapshots } = this.#ledger.state;
    const kept = ids.filter((one) => snapshots[one] !== undefined).map((one) => [one, snapshots[one] ?? []] as const);
    this.#ledger.write({ snapshots: { ...Object.fromEntries(kept), [id]: lower } });
  }

  /** Drops the record of a snapshot's layers, which are not to be trusted. */
  unbind(id: string): void {
    const { [id]: _, ...others } = this.#ledger.state.snapshots;
    this.#ledger.write({ snapshots: others });
  }

  /** Removes unused layers, flattens a deep stack, both in the background; prepares the next layer. */
  tidy(): void {
    const { dir, mounter, onFailed } = this.#options;
    const used = this.#ledger.used();
    const works = new Set([this.#ledger.state.upper]);
    if (this.#ahead !== null) for (const set of [used, works]) set.add(this.#ahead.layer);
    for (const layer of [...(this.#seen?.lower ?? []), this.#seen?.upper, this.#flat?.layer]) if (layer !== undefined) used.add(layer);
    const unused = (kind: string, needed: ReadonlySet<number>): string[] =>
      fs
        .readdirSync(join(dir, kind))
        .filter((name) => !needed.has(Number(name)))
        .map((name) => join(dir, kind, name));
    const gone = this.#flattening === null ? [...unused('layers', used), ...unused('work', works)] : [];
    if (gone.length > 0) void mounter({ t: 'remove', paths: gone }).catch(onFailed);
    if (this.#flattening === null && this.#flat === null && this.#ledger.state.lower.length > this.#options.flattenOver) this.#flatten();
    this.#prepare();
  }

  async idle(): Promise<void> {
    await this.#flattening;
  }

  /** Returns where the tree differs from a snapshot; null: unknown. */
  between(id: string): ReadonlyMap<string, Below> | null {
    const { lower, upper, snapshots } = this.#ledger.state;
    return this.#difference(snapshots[id] ?? [], [upper, ...lower]);
  }

  since(): ReadonlyMap<string, Below> | null {
    const { lower, upper } = this.#ledger.state;
    if (this.#seen === null) return null;
    return this.#difference([this.#seen.upper, ...this.#seen.lower], [upper, ...lower], [this.#seen.upper, upper]);
  }

  /** Names in layers that are in only one of two stacks, and in `both`, which were written meanwhile. */
  #difference(before: readonly number[], after: readonly number[], both: readonly number[] = []): ReadonlyMap<string, Below> | null {
    const other = [...before.filter((layer) => !after.includes(layer)), ...after.filter((layer) => !before.includes(layer))];
    const changed = new Map<string, Below>();
    for (const { name } of this.#options.roots) {
      let below = NOTHING;
      for (const layer of new Set([...other, ...both])) {
        const names = namesIn(bytesOf(layerPath(this.#options.dir, layer, name)));
        if (names === null) return null;
        below = union(below, names);
      }
      changed.set(name, below);
    }
    return changed;
  }

  seen(): void {
    this.#seen = this.#mounted;
  }

  async #switchTo(lower: readonly number[]): Promise<void> {
    const { upper: before, next, lower: below } = this.#ledger.state;
    const { dir, roots } = this.#options;
    this.#prepare();
    for (const { name } of roots) takeMode(layerPath(dir, next, name), layerPath(dir, lower[0] ?? before, name));
    this.#ledger.write({ lower, upper: next, next: next + 1 });
    try {
      await this.#mount({ lower, upper: next });
    } catch (error) {
      this.#ledger.write({ lower: below, upper: before });
      throw error;
    }
  }

  #prepare(): void {
    const layer = this.#ledger.state.next;
    if (this.#ahead?.layer === layer) return;
    const { dir, roots } = this.#options;
    for (const { name } of roots) fs.mkdirSync(layerPath(dir, layer, name), { recursive: true, mode: 0o700 });
    this.#ahead = { layer, works: new Map(roots.map(({ name }) => [name, this.#makeWork(layer, name)])) };
  }

  async #mount(stack: Stack): Promise<void> {
    await this.#options.mounter({ t: 'mount', roots: this.#options.roots.map((root) => this.#layered(root, stack)) });
    this.#mounted = stack;
  }

  #layered({ name, textPath }: RootBytes, { lower, upper }: Stack): LayeredRoot {
    const { dir } = this.#options;
    const ahead = this.#ahead?.layer === upper ? this.#ahead.works.get(name) : undefined;
    return {
      target: textPath,
      lower: lower.map((layer) => layerPath(dir, layer, name)),
      upper: layerPath(dir, upper, name),
      work: ahead ?? this.#makeWork(upper, name),
    };
  }

  /** After a kill the kernel refuses a used work directory: each mount gets a new one. */
  #makeWork(layer: number, name: string): string {
    const work = workPath(this.#options.dir, layer, name);
    fs.mkdirSync(work, { recursive: true, mode: 0o700 });
    return fs.mkdtempSync(join(work, 'w'));
  }

  /** The root itself looks as it did, but its owner can enter it: its mode is nothing that a snapshot knows of. */
  #makeLayer(layer: number, name: string, model: string): void {
    const path = layerPath(this.#options.dir, layer, name);
    if (fs.existsSync(path)) return;
    fs.mkdirSync(path, { recursive: true, mode: 0o700 });
    takeMode(path, model);
  }

  #exists(layer: number): boolean {
    return this.#options.roots.every(({ name }) => fs.existsSync(layerPath(this.#options.dir, layer, name)));
  }

  #isEmpty(layer: number): boolean {
    return this.#options.roots.every(({ name }) => fs.readdirSync(layerPath(this.#options.dir, layer, name)).length === 0);
  }

  #flatten(): void {
    const { lower, next } = this.#ledger.state;
    const { dir, roots, mounter, onFailed } = this.#options;
    this.#ledger.write({ next: next + 1 });
    for (const { name } of roots) {
      const model = layerPath(dir, lower[0] ?? 0, name);
      this.#makeLayer(next, name, model);
      takeMode(layerPath(dir, next, name), model);
    }
    const job = roots.map((root) => this.#layered(root, { lower, upper: next }));
    this.#flattening = mounter({ t: 'flatten', roots: job })
      .then(() => {
        this.#flat = { layer: next, of: lower };
      })
      .catch(onFailed)
      .finally(() => {
        this.#flattening = null;
      });
  }

  /** A stack with the flat layer in the place of those that it was made of. The tree is the same. */
  #flattened(lower: readonly number[]): readonly number[] {
    const flat = this.#flat;
    if (flat === null) return lower;
    this.#flat = null;
    const replaced = (layers: readonly number[]): readonly number[] | null => {
      const above = layers.length - flat.of.length;
      return above >= 0 && flat.of.every((layer, at) => layers[above + at] === layer) ? [...layers.slice(0, above), flat.layer] : null;
    };
    const now = replaced(lower);
    if (now === null) return lower;
    const seen = this.#seen === null ? null : replaced(this.#seen.lower);
    this.#seen = this.#seen === null || seen === null ? null : { lower: seen, upper: this.#seen.upper };
    return now;
  }
}

/** A root looks as it did, but its owner can enter it. */
function takeMode(path: string, model: string): void {
  fs.chmodSync(path, (fs.statSync(model).mode & 0o7777) | 0o700);
}

export interface LayeredRoot {
  readonly target: string;
  /** Directories from the top to the bottom. */
  readonly lower: readonly string[];
  readonly upper: string;
  readonly work: string;
}

/**
 * Asks the process with the right to mount. After a rejection nothing has changed. `mount` puts new mounts in the place of the old ones, here
 * and where commands run; `flatten` makes `upper` one layer that reads as all of `lower`; `remove` removes paths with their content.
 */
export type Mounter = (
  request:
    | { readonly t: 'mount' | 'flatten'; readonly roots: readonly LayeredRoot[] }
    | { readonly t: 'remove'; readonly paths: readonly string[] },
) => Promise<void>;
