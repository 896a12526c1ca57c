/** Variants of a pool that are compared: the whole fleet, and the whole fleet without a part (agent reference, appendix H). */
import { createHash } from 'node:crypto';
import type { ComputeBrief } from '@agentfleet/protocol/pool';
import { EvalError } from '../failure.ts';

export const learnedParts = ['Planner', 'Verifier', 'Embedder', 'Policy'] as const;
export type LearnedPart = (typeof learnedParts)[number];

export interface Variant {
  /** `full`, or what is changed. */
  readonly name: string;
  readonly change: string;
  readonly parts: readonly LearnedPart[];
  readonly compute: ComputeBrief;
}

const compute: ComputeBrief = { entropyFastNats: 2.5, margin: 1.5, riskThreshold: 0.6, kBase: 2, kMax: 8, earlyExitMargin: 1.5 };

/** The whole fleet with the defaults of a pool. */
export const full: Variant = { name: 'full', change: 'none', parts: learnedParts, compute };

/** Never fast, never more: always this many. */
const always = (k: number): ComputeBrief => ({ ...compute, entropyFastNats: 0, riskThreshold: 1, kBase: k, kMax: k });

const without = (...gone: readonly LearnedPart[]): readonly LearnedPart[] => learnedParts.filter((part) => !gone.includes(part));

const changes: Readonly<Record<string, Omit<Variant, 'name'>>> = {
  HRM: { change: 'no planner: uniform priors, no risk, no deliberation', parts: without('Planner'), compute },
  EBM: { change: 'no verifier: the order of the expert, no energy in gate 2', parts: without('Verifier'), compute: always(1) },
  AoE: { change: 'the generalist and the verifier alone: no policy, no embedder', parts: without('Embedder', 'Policy'), compute },
  Learned: { change: 'the search alone, no learned part', parts: [], compute },
  K1: { change: 'always one candidate', parts: learnedParts, compute: always(1) },
  K2: { change: 'always two candidates', parts: learnedParts, compute: always(2) },
  K4: { change: 'always four candidates', parts: learnedParts, compute: always(4) },
  K8: { change: 'always eight candidates', parts: learnedParts, compute: always(8) },
};

/** What appendix H names and nothing here can switch off: to compare it with itself would be a lie. */
const cannot: Readonly<Record<string, string>> = {
  Memory: 'no memory between tasks is there to be left out',
  Backtracking: 'the search has no switch for it',
  Snapshot: 'an attempt cannot run without snapshots',
  FreeForm: 'no expert of a local pool writes without its grammar',
  SpecDecode: 'no expert of a local pool decodes speculatively',
};

/** Names for `--ablate`. */
export const ablations: readonly string[] = Object.keys(changes);

/** The whole fleet, and one variant for each name. @throws EvalError for a name that stands for no change */
export function variantsOf(names: readonly string[]): readonly Variant[] {
  const chosen = [...new Set(names)].map((name): Variant => {
    const change = changes[name];
    if (change !== undefined) return { name: /^K\d$/.test(name) ? name : `-${name}`, ...change };
    const why = cannot[name];
    throw new EvalError(
      why === undefined ? `there is no ablation ${name}; choose of ${ablations.join(', ')}` : `${name} cannot be ablated: ${why}`,
    );
  });
  return [full, ...chosen];
}

/** Of any plain value, by content. */
export function digestOf(value: unknown): string {
  return `sha256:${createHash('sha256').update(JSON.stringify(value)).digest('hex')}`;
}
