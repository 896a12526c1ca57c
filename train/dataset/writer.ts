import { createHash, type Hash } from 'node:crypto';
import { mkdir, open, writeFile, type FileHandle } from 'node:fs/promises';
import { join } from 'node:path';
import { normalisedHash } from '@agentfleet/eval/stats';
import { exampleSplits, type Example, type ExampleSplit } from './example.ts';
import { Counts, linesOf, manifestFrom, type DataManifest } from './manifest.ts';
import { chanceChars, refuseInvalid } from './refuse.ts';

/**
 * Writes a data set as it is made. Of each example it keeps what the refusals look at, some hundred bytes, and no text: a long one is
 * stood for by its hash.
 */
export class DataWriter implements AsyncDisposable {
  readonly #folder: string;
  readonly #seed: number;
  readonly #files: Readonly<Record<ExampleSplit, FileHandle>>;
  readonly #counts = new Counts();
  readonly #hashes: Readonly<Record<ExampleSplit, Hash>>;
  readonly #seen: Example[] = [];

  private constructor(folder: string, seed: number, files: Readonly<Record<ExampleSplit, FileHandle>>) {
    this.#folder = folder;
    this.#seed = seed;
    this.#files = files;
    this.#hashes = bySplit(() => createHash('sha256'));
  }

  static async open(folder: string, seed: number): Promise<DataWriter> {
    await mkdir(folder, { recursive: true });
    const [train, calibration, heldOut] = await Promise.all(
      (['train', 'calibration', 'heldOut'] as const).map((split) => open(join(folder, `${split}.jsonl`), 'w')),
    );
    return new DataWriter(folder, seed, { train, calibration, heldOut } as Record<ExampleSplit, FileHandle>);
  }

  async append(examples: readonly Example[]): Promise<void> {
    for (const split of exampleSplits) {
      const lines = linesOf(examples, split);
      if (lines === '') continue;
      this.#hashes[split].update(lines);
      await this.#files[split].write(lines);
    }
    for (const one of examples) {
      this.#counts.add(one);
      this.#seen.push(slim(one));
    }
  }

  /**
   * Refuses what nothing may be trained on; else writes the manifest, without which nothing reads the rest.
   *
   * @throws InvalidData or GateError, with the cure
   */
  async close(): Promise<DataManifest> {
    refuseInvalid(this.#seen);
    const manifest = manifestFrom(
      this.#counts,
      bySplit((split) => `sha256:${this.#hashes[split].digest('hex')}`),
      this.#seed,
    );
    await writeFile(join(this.#folder, 'manifest.json'), `${JSON.stringify(manifest, null, 2)}\n`);
    return manifest;
  }

  async [Symbol.asyncDispose](): Promise<void> {
    await Promise.all(Object.values(this.#files).map((file) => file.close()));
  }
}

function bySplit<T>(of: (split: ExampleSplit) => T): Record<ExampleSplit, T> {
  return Object.fromEntries(exampleSplits.map((split) => [split, of(split)])) as Record<ExampleSplit, T>;
}

/** As good as the whole for `refuseInvalid`. A hash is padded, so that it counts as long. */
function slim(one: Example): Example {
  const short = one.head === 'Code' && one.text.length < chanceChars;
  return short ? one : { ...one, text: normalisedHash(one.text).padEnd(chanceChars, '.') };
}
