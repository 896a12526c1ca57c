import fs from 'node:fs';
import { join } from 'node:path';
import { errnoOf, SnapshotError } from '../errors.ts';

/** What is mounted: numbers of layers, `lower` from the top to the bottom. */
export interface Stack {
  readonly lower: readonly number[];
  readonly upper: number;
}

/** Everything that must outlive the keeper. */
export interface LedgerState extends Stack {
  readonly format: 1;
  /** The number of the next layer; never used twice. */
  readonly next: number;
  /** The layers of snapshots, from the top to the bottom. One that is not here has its contents in the store only. */
  readonly snapshots: Readonly<Record<string, readonly number[]>>;
}

/** Both are made in the first directory: a layer and its work directory must be on one file system. */
export function layerPath(dir: string, layer: number, root: string): string {
  return join(dir, 'layers', String(layer), root);
}

export function workPath(dir: string, layer: number, root: string): string {
  return join(dir, 'work', String(layer), root);
}

/**
 * Which layers there are and what they are good for, in one file that is replaced by rename: after a kill at any
 * instant it says what was so before or what is so after. It is written before a mount: what it says is mounted again
 * at the next start.
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

  /** Puts a new state in the place of the old one. */
  write(change: Partial<Omit<LedgerState, 'format'>>): void {
    const state = { ...this.#state, ...change };
    const temporary = `${this.#path}.tmp`;
    fs.writeFileSync(temporary, `${JSON.stringify(state)}\n`, { mode: 0o600 });
    fs.renameSync(temporary, this.#path);
    this.#state = state;
  }

  /** Every layer that something needs. */
  used(): Set<number> {
    const { lower, upper, snapshots } = this.#state;
    return new Set([...lower, upper, ...Object.values(snapshots).flat()]);
  }
}

function readState(path: string): LedgerState | null {
  let text: string;
  try {
    text = fs.readFileSync(path, 'utf8');
  } catch (error) {
    if (errnoOf(error) === 'ENOENT') return null;
    throw error;
  }
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
