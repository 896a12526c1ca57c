// inference-image, engines/synth: weighted candidate edits of one program state. May import base, gpu, models and protocol.
import type { TextEdit } from './language/edit.ts';

/** A candidate before it has a rank: its edit, its file and its weight. */
export interface Entry {
  /** Equal keys mean equal resulting texts. */
  readonly key: string;
  readonly file: number;
  /** Sorted; they do not overlap. */
  readonly edits: readonly TextEdit[];
  readonly operator: string;
  readonly rationale: string;
  readonly row: number;
  readonly column: number;
  /** Unnormalised, > 0. */
  readonly weight: number;
}

export type Cut = 'Deadline' | 'Bound' | null;

/** Every candidate of one program state, the likeliest first. */
export interface Pool {
  readonly entries: readonly Entry[];
  /** Sum of all weights. */
  readonly mass: number;
  readonly parsed: number;
  /** Reason for which the search ended early; a bound ends it at the same place each time. */
  readonly cut: Cut;
}

/** Collects entries; of equal results the likeliest stays and takes the weight of both. */
export class PoolBuilder {
  readonly #entries = new Map<string, Entry>();

  get size(): number {
    return this.#entries.size;
  }

  add(entry: Entry): void {
    const known = this.#entries.get(entry.key);
    if (known === undefined) this.#entries.set(entry.key, entry);
    else this.#entries.set(entry.key, { ...(entry.weight > known.weight ? entry : known), weight: entry.weight + known.weight });
  }

  /** @param order breaks ties of weight; equal seeds give equal orders. */
  build(parsed: number, cut: Cut, order: (key: string) => number): Pool {
    const entries = [...this.#entries.values()];
    const ties = new Map(entries.map((entry) => [entry.key, order(entry.key)]));
    const tie = (entry: Entry): number => ties.get(entry.key) ?? 0;
    entries.sort((a, b) => b.weight - a.weight || tie(a) - tie(b) || (a.key < b.key ? -1 : 1));
    return { entries, mass: entries.reduce((sum, entry) => sum + entry.weight, 0), parsed, cut };
  }
}

/** FNV-1a over the seed and a text: an order that depends only on them. */
export function seededOrder(seed: number): (key: string) => number {
  return (key) => {
    let hash = (0x811c9dc5 ^ seed) >>> 0;
    for (let i = 0; i < key.length; i += 1) hash = Math.imul(hash ^ key.charCodeAt(i), 0x01000193) >>> 0;
    return hash;
  };
}

const pairedSingles = 64;
/** Share of the pool's mass that pairs take together. */
const pairShare = 0.2;

/**
 * Pairs of the likeliest single edits that do not touch, likelier the likelier both are. A pair is
 * one program state more, so singles stay in the pool.
 */
export function withPairs(pool: Pool, keyOf: (file: number, edits: readonly TextEdit[]) => string): readonly Entry[] {
  const top = pool.entries.slice(0, pairedSingles);
  const pairs: Entry[] = [];
  for (const [at, one] of top.entries()) {
    for (const other of top.slice(at + 1)) {
      const edits = [...one.edits, ...other.edits].sort((a, b) => a.start - b.start);
      if (one.file !== other.file || touch(edits)) continue;
      const rationale = `${one.rationale}; ${other.rationale}`;
      const operator = `${one.operator}+${other.operator}`;
      pairs.push({ ...one, key: keyOf(one.file, edits), edits, operator, rationale, weight: one.weight * other.weight });
    }
  }
  const sum = pairs.reduce((total, pair) => total + pair.weight, 0);
  const scale = sum === 0 ? 0 : (pool.mass * pairShare) / (1 - pairShare) / sum;
  return pairs.map((pair) => ({ ...pair, weight: pair.weight * scale }));
}

function touch(edits: readonly TextEdit[]): boolean {
  return edits.some((edit, at) => at > 0 && edit.start <= (edits[at - 1]?.end ?? -1));
}
