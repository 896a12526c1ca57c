/** Variants of a pool that are compared: the whole fleet, and the whole fleet without a part (agent reference, appendix H). */
import { createHash } from 'node:crypto';
import { ablations as parts, type Ablation, type ComputeBrief } from '@agentfleet/protocol/pool';
import { EvalError } from '../failure.ts';

export const learnedParts = ['Planner', 'Verifier', 'Embedder', 'Policy'] as const;
export type LearnedPart = (typeof learnedParts)[number];

export interface Variant {
  /** `full`, or what is changed. */
  readonly name: string;
  readonly change: string;
  /** Names of the ablations that the worker obeys; it is told by an annotation of the task. */
  readonly ablations: readonly string[];
  /** Learned parts that are left. */
  readonly parts: readonly LearnedPart[];
  /** Steps: a snapshot of each better tree, to come back to. InitialOnly: they are made again from the first one. */
  readonly snapshots: 'Steps' | 'InitialOnly';
  /** Of a pool of a cluster; absent: the one called default. */
  readonly profile?: string;
}

/** Of local pools: the defaults of a pool. */
export const compute: ComputeBrief = { entropyFastNats: 2.5, margin: 1.5, riskThreshold: 0.6, kBase: 2, kMax: 8, earlyExitMargin: 1.5 };

/** The whole fleet with the defaults of a pool. */
export const full: Variant = { name: 'full', change: 'none', ablations: [], parts: learnedParts, snapshots: 'Steps' };

const snapshot: Omit<Variant, 'name'> = {
  ...full,
  change: 'no snapshots but the first: better trees are made again',
  snapshots: 'InitialOnly',
};

/** What appendix H names and nothing can switch off: to compare it with itself would be a lie. */
const cannot: Readonly<Record<string, string>> = {
  Memory: 'nothing of a task outlives it but its artifacts, which no other task reads; a store of past attempts and its recall are missing',
  FreeForm: 'experts write edits under a grammar or by a search over trees; a free-form decoder with its repair loop is missing',
  SpecDecode: 'a Draft gives likelihoods and decodes for nobody; a speculative decoder is missing',
};

/** Names for `--ablate`. */
export const ablations: readonly string[] = [...Object.keys(parts), 'Snapshot'];

const without = ({ change, without: gone }: Ablation, name: string): Omit<Variant, 'name'> => ({
  ...full,
  change,
  ablations: [name],
  parts: learnedParts.filter((part) => !gone.includes(part)),
});

/** The whole fleet, and one variant for each name. @throws EvalError for a name that stands for no change */
export function variantsOf(names: readonly string[]): readonly Variant[] {
  const chosen = [...new Set(names)].map((name): Variant => {
    const found = Object.hasOwn(parts, name) ? parts[name] : undefined;
    const change = found === undefined ? (name === 'Snapshot' ? snapshot : undefined) : without(found, name);
    if (change !== undefined) return { ...change, name: /^K\d$/.test(name) ? name : `-${name}` };
    const why = Object.hasOwn(cannot, name) ? cannot[name] : undefined;
    throw new EvalError(
      why === undefined ? `there is no ablation ${name}; choose of ${ablations.join(', ')}` : `${name} cannot be ablated: ${why}`,
    );
  });
  return [full, ...chosen];
}

/** One variant for each profile of a pool of a cluster. */
export const profileVariants = (profiles: readonly string[]): readonly Variant[] =>
  profiles.map((profile) => ({ ...full, name: profile, change: `profile ${profile}`, profile }));

/** Of any plain value, by content. */
export function digestOf(value: unknown): string {
  return `sha256:${createHash('sha256').update(JSON.stringify(value)).digest('hex')}`;
}
