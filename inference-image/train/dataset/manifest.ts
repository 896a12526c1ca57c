import { createHash } from 'node:crypto';
import { featureSet } from '@agentfleet/protocol/inference';
import { exampleSchema, exampleSplits, strata, type Example, type ExampleSplit, type Stratum } from './example.ts';

/** What is committed of a data set, and what is checked before it is used. */
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

export interface SplitManifest {
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

function splitManifest(examples: readonly Example[], split: ExampleSplit): SplitManifest {
  const own = examples.filter((one) => one.split === split);
  const counts = strata.map((stratum) => [stratum, own.filter((one) => one.stratum === stratum).length] as const);
  return {
    strata: Object.fromEntries(counts) as Record<Stratum, number>,
    problems: new Set(own.map(({ problem }) => problem)).size,
    sha256: sha256(linesOf(examples, split)),
  };
}

/** What a data set consists of. Pure: equal examples give equal manifests. */
export function manifestOf(examples: readonly Example[], seed: number): DataManifest {
  const splits = Object.fromEntries(exampleSplits.map((split) => [split, splitManifest(examples, split)])) as DataManifest['splits'];
  const digest = sha256(JSON.stringify(exampleSplits.map((split) => splits[split].sha256)));
  return { schema: exampleSchema, featureSet, seed, examples: examples.length, splits, digest };
}
