import type { RootBytes } from '../engine.ts';
import type { TreeStats } from '../treeStats.ts';
import { StatCursor } from './statCursor.ts';
import type { TreeLimits } from './treeLimits.ts';

interface ToldStatsOptions {
  readonly roots: readonly RootBytes[];
  readonly limits: TreeLimits;
  /** Absent: each name is asked for by itself. */
  readonly treeStats?: TreeStats | undefined;
}

/**
 * Asks for the stats of all names of all roots, where that is worth a program. From one completed scan to the next only
 * what has changed is told: each node notes whether it is as it was told (`TreeNode.told`).
 */
export class ToldStats {
  readonly #options: ToldStatsOptions;
  /** The answers that the nodes have been compared with, one for each root. */
  #last: readonly (string | null)[] = [];
  #next: readonly (string | null)[] = [];

  constructor(options: ToldStatsOptions) {
    this.#options = options;
  }

  /** For a tree with so many known names. Until {@link completed} nothing that was told before counts. */
  async ask(known: number): Promise<readonly (StatCursor | null)[]> {
    const { roots, treeStats, limits } = this.#options;
    const since = this.#last;
    this.forget();
    if (treeStats === undefined || known < treeStats.worthFrom) return [];
    const max = Math.min(limits.entries, Number.MAX_SAFE_INTEGER);
    const all = await Promise.all(roots.map(({ textPath }, at) => treeStats.read(textPath, max, since[at] ?? null)));
    this.#next = all.map((answer) => answer?.token ?? null);
    return all.map((answer) => (answer === null ? null : new StatCursor(answer.records, answer.changesOnly)));
  }

  /** All names have been compared with the last answers. */
  completed(): void {
    this.#last = this.#next;
  }

  /** The next answer has to be whole. */
  forget(): void {
    this.#last = [];
    this.#next = [];
  }
}
