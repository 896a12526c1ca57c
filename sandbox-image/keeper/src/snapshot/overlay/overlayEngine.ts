import fs from 'node:fs';
import type { Below } from '../scan/index.ts';
import type { RootBytes } from '../base/manifest.ts';
import { Layers, type Mounter } from './layers.ts';
import type { RestoreReport, SnapshotRecord } from '@agentfleet/protocol/keeper';
import { CasEngine, type CasOptions, type TakeOptions } from '../cas/casEngine.ts';
import { errnoOf } from '../base/errors.ts';
import { type BytePath, sysPath } from '../base/pathBytes.ts';
import { checkRoots } from '../objects/stored.ts';

interface OverlayOptions extends Omit<CasOptions, 'changes'> {
  /** A directory of this engine alone, that commands cannot reach, on the file system of the volumes. */
  readonly layersDir: string;
  readonly mounter: Mounter;
  readonly onFailed: (error: unknown) => void;
  /** Reports the time for which a switch of layers froze the roots, µs. */
  readonly onSwitched?: (what: 'take' | 'restore', micros: number) => void;
}

/** A stack that is deeper is made flat in the background. */
const FLATTEN_OVER = 48;

/**
 * Opens a content-addressed store over roots that are layers: mounts the recorded stack, so that the tree is
 * the one that a killed keeper left.
 */
export async function openOverlayEngine(options: OverlayOptions): Promise<CasEngine> {
  const roots = checkRoots(options.roots, options.storeDir);
  const { layersDir, mounter, onFailed } = options;
  const layers = new Layers({ dir: layersDir, roots, mounter, flattenOver: FLATTEN_OVER, onFailed });
  await layers.open();
  layers.tidy();
  return new OverlayEngine(options, roots, layers);
}

/**
 * Snapshots by layers, each also in the content-addressed store. A take freezes the written layer, a restore mounts the
 * frozen layers of a snapshot: no file is copied. The layers also bound what can have changed, so that only this is
 * read for the manifest. The store stays authoritative: after the switch it completes the restore, compares it with the
 * manifest, and repairs it, in the same way as without layers.
 */
class OverlayEngine extends CasEngine {
  readonly #options: OverlayOptions;
  readonly #roots: readonly RootBytes[];
  readonly #layers: Layers;

  constructor(options: OverlayOptions, roots: readonly RootBytes[], layers: Layers) {
    super({ ...options, changes: layers });
    this.#options = options;
    this.#roots = roots;
    this.#layers = layers;
  }

  override async close(): Promise<void> {
    await super.close();
    await this.#layers.idle();
  }

  protected override async takeNow(options: TakeOptions): Promise<SnapshotRecord> {
    const started = performance.now();
    await this.#timed('take', () => this.#layers.freeze());
    const record = await super.takeNow(options);
    this.#layers.bind(
      record.id,
      this.list().map(({ id }) => id),
    );
    this.#layers.tidy();
    return { ...record, tookMs: Math.round(performance.now() - started) };
  }

  protected override async restoreNow(id: string): Promise<RestoreReport> {
    // Layers outlive a collected or broken snapshot until the next one is taken.
    if (!this.#layers.has(id) || !this.list().some((record) => record.id === id)) return super.restoreNow(id);
    const started = performance.now();
    const changed = this.#changedBy(id);
    const before = this.#look(changed);
    await this.#timed('restore', () => this.#layers.switchTo(id));
    const switched = compare(before, this.#look(changed));
    const mended = await super.restoreNow(id);
    // The store had to repair paths, so the layers were not exact.
    const paths = mended.created + mended.modified + mended.deleted;
    if (paths > 0) {
      this.#layers.unbind(id);
      this.#options.onFailed(new Error(`the layers of ${id} differed from it in ${paths} paths, which the store has mended`));
    }
    this.#layers.tidy();
    const { created, modified, deleted } = switched;
    const sum = { created: created + mended.created, modified: modified + mended.modified, deleted: deleted + mended.deleted };
    return { ...mended, ...sum, tookMs: Math.round(performance.now() - started) };
  }

  async #timed(what: 'take' | 'restore', job: () => Promise<void>): Promise<void> {
    const started = performance.now();
    await job();
    this.#options.onSwitched?.(what, Math.round((performance.now() - started) * 1000));
  }

  /** Returns the paths that a switch to a snapshot can change; null when the layers do not determine them. */
  #changedBy(id: string): readonly BytePath[] | null {
    const changed = this.#layers.between(id);
    if (changed === null) return null;
    const paths: BytePath[] = [];
    for (const { name, path } of this.#roots) collectPaths(path, changed.get(name) ?? new Map(), paths);
    return paths;
  }

  #look(paths: readonly BytePath[] | null): readonly string[] {
    return (paths ?? []).map((path) => {
      try {
        const stat = fs.lstatSync(sysPath(path), { bigint: true });
        return `${stat.mode} ${stat.isDirectory() ? 0 : stat.size} ${stat.mtimeNs}`;
      } catch (error) {
        if (['ENOENT', 'ENOTDIR', 'EACCES'].includes(errnoOf(error))) return '';
        throw error;
      }
    });
  }
}

function collectPaths(dir: BytePath, below: Below, paths: BytePath[]): void {
  for (const [name, deeper] of below) {
    paths.push(`${dir}/${name}`);
    if (deeper !== null) collectPaths(`${dir}/${name}`, deeper, paths);
  }
}

/** Compares two path lists for the report of a switch, for the paths known before. */
function compare(before: readonly string[], after: readonly string[]): Pick<RestoreReport, 'created' | 'modified' | 'deleted'> {
  const pairs = before.map((was, at) => ({ was, is: after[at] ?? '' })).filter(({ was, is }) => was !== is);
  return {
    created: pairs.filter(({ was }) => was === '').length,
    modified: pairs.filter(({ was, is }) => was !== '' && is !== '').length,
    deleted: pairs.filter(({ is }) => is === '').length,
  };
}
