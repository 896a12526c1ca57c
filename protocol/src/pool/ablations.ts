import type { ExpertRole } from '../api/expertpool/experts.ts';
import type { ComputeBrief, PoolBrief } from './brief.ts';

/** Annotations of experiments: a task asks to be worked on without a part of the fleet, where its pool allows that. */
export const ablationAnnotations = {
  /** Of an AgentTask: names of {@link ablations}, with commas between. */
  asked: 'agentfleet.dev/ablate',
  /** Of an ExpertPool: which of them its tasks may ask for. Absent: none, because some of them weaken gate 2. */
  allowed: 'agentfleet.dev/allowed-ablations',
} as const;

/** Parts and abilities that an ablation leaves out. */
export interface Ablation {
  readonly change: string;
  /** Parts that are not asked. */
  readonly without: readonly (ExpertRole | 'Verifier')[];
  /** Always so many candidates: never the fast path, never more. */
  readonly k?: number;
  /** The search never goes back to a tree that it has left. */
  readonly backtracking?: false;
}

const always = (k: number, words: string): Ablation => ({ change: `always ${words}`, without: [], k });

/** By name, as far as something obeys them (agent reference, appendix H). */
export const ablations: Readonly<Record<string, Ablation>> = {
  HRM: { change: 'no planner: uniform priors, no risk, no deliberation', without: ['Planner'] },
  EBM: { change: 'no verifier: the order of the expert, no energy in gate 2', without: ['Verifier'], k: 1 },
  AoE: {
    change: 'the generalist and the verifier alone: no specialist, policy, embedder, draft',
    without: ['Specialist', 'Policy', 'Embedder', 'Draft'],
  },
  Learned: { change: 'the search alone, no learned part', without: ['Planner', 'Verifier', 'Embedder', 'Policy', 'Draft'] },
  K1: always(1, 'one candidate'),
  K2: always(2, 'two candidates'),
  K4: always(4, 'four candidates'),
  K8: always(8, 'eight candidates'),
  Backtracking: { change: 'the search goes on from its newest tree alone, and ends where that one ends', without: [], backtracking: false },
};

/** Names of an annotation of either kind. */
export function ablationNames(annotation: string | undefined): readonly string[] {
  return (annotation ?? '')
    .split(',')
    .map((name) => name.trim())
    .filter((name) => name !== '');
}

/** Returns the fault of asked ablations: one is unknown, or the pool does not allow it; such a task must not run as if it had not asked. */
export function ablationRefusal(asked: readonly string[], { ablations: allowed = [] }: Pick<PoolBrief, 'ablations'>): string | null {
  const unknown = asked.find((name) => ablations[name] === undefined);
  if (unknown !== undefined) return `there is no ablation ${unknown}; choose of ${Object.keys(ablations).join(', ')}`;
  const refused = asked.find((name) => !allowed.includes(name));
  if (refused === undefined) return null;
  return `the pool does not allow its tasks the ablation ${refused}; name it in the annotation ${ablationAnnotations.allowed} of the ExpertPool`;
}

function fixed(compute: ComputeBrief, k: number | undefined): ComputeBrief {
  return k === undefined ? compute : { ...compute, entropyFastNats: 0, riskThreshold: 1, kBase: k, kMax: k };
}

/** A pool as a task with ablations sees it. Names that are refused change nothing: see {@link ablationRefusal}. */
export function ablatedBrief(brief: PoolBrief, asked: readonly string[]): PoolBrief {
  if (ablationRefusal(asked, brief) !== null) return brief;
  return asked.reduce((before, name) => without(before, ablations[name]), brief);
}

function without(brief: PoolBrief, ablation: Ablation | undefined): PoolBrief {
  if (ablation === undefined) return brief;
  const gone = (role: ExpertRole | 'Verifier'): boolean => ablation.without.includes(role);
  const profiles = Object.entries(brief.profiles).map(([name, compute]) => [name, fixed(compute, ablation.k)] as const);
  return {
    ...brief,
    experts: brief.experts.filter(({ role }) => !gone(role)),
    absent: brief.absent.filter(({ role }) => !gone(role)),
    verifier: gone('Verifier') ? null : brief.verifier,
    profiles: Object.fromEntries(profiles),
  };
}
