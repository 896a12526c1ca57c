import { createHash } from 'node:crypto';
import { featureSet } from '@agentfleet/protocol/inference';
import { exampleSchema, exampleSplits, strata, type Example, type ExampleSplit, type Stratum } from './example.ts';

/** Description of a data set that is committed, and that is checked before the data set is used. */
export interface DataManifest {
  readonly schema: string;
  readonly featureSet: string;
  readonly seed: number;
  readonly examples: number;
  /** Of each split: examples by stratum, problems, `sha256:` of its lines. */
  readonly splits: Readonly<Record<ExampleSplit, SplitManifest>>;
  /** Over the splits. */
  readonly digest: string;
}

interface SplitManifest {
  readonly strata: Readonly<Record<Stratum, number>>;
  readonly problems: number;
  readonly sha256: string;
}

/** Lines of a split, as they are hashed and kept. */
export function linesOf(examples: readonly Example[], split: ExampleSplit): string {
  return examples
    .filter((one) => one.split === split)
    .map((one) => `${JSON.stringify(one)}\n`)
    .join('');
}

const sha256 = (text: string): string => `sha256:${createHash('sha256').update(text).digest('hex')}`;

/** Examples of each split, counted one by one. */
export class Counts {
  readonly #strata = new Map<string, number>();
  readonly #problems = new Map<ExampleSplit, Set<string>>(exampleSplits.map((split) => [split, new Set()]));
  examples = 0;

  add({ split, stratum, problem }: Pick<Example, 'split' | 'stratum' | 'problem'>): void {
    const key = `${split} ${stratum}`;
    this.#strata.set(key, (this.#strata.get(key) ?? 0) + 1);
    this.#problems.get(split)?.add(problem);
    this.examples += 1;
  }

  of(split: ExampleSplit): Omit<SplitManifest, 'sha256'> {
    const counts = strata.map((stratum) => [stratum, this.#strata.get(`${split} ${stratum}`) ?? 0] as const);
    return { strata: Object.fromEntries(counts) as Record<Stratum, number>, problems: this.#problems.get(split)?.size ?? 0 };
  }
}

/** Returns the manifest of a data set, of which the lines of each split have these hashes. */
export function manifestFrom(counts: Counts, hashes: Readonly<Record<ExampleSplit, string>>, seed: number): DataManifest {
  const splits = Object.fromEntries(
    exampleSplits.map((split) => [split, { ...counts.of(split), sha256: hashes[split] }]),
  ) as DataManifest['splits'];
  const digest = sha256(JSON.stringify(exampleSplits.map((split) => hashes[split])));
  return { schema: exampleSchema, featureSet, seed, examples: counts.examples, splits, digest };
}

/** Returns the manifest of a data set. Pure: equal examples give equal manifests. */
export function manifestOf(examples: readonly Example[], seed: number): DataManifest {
  const counts = new Counts();
  for (const one of examples) counts.add(one);
  const hashes = Object.fromEntries(exampleSplits.map((split) => [split, sha256(linesOf(examples, split))]));
  return manifestFrom(counts, hashes as Record<ExampleSplit, string>, seed);
}
