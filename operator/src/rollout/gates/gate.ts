import type { BoundMetric } from '@agentfleet/protocol/api';
import type { Cumulative, Design, Table } from '../statistics/index.ts';

/** A gate's verdict on a canary. Only `Pass` at every gate promotes. */
export type Verdict = 'Pass' | 'Fail' | 'Inconclusive' | 'InsufficientData';

/** Finding of a gate. */
export interface Finding {
  readonly verdict: Verdict;
  readonly value?: number;
  readonly baseline?: number;
  readonly samples: number;
  /** As `GateResult.look`. */
  readonly look?: number;
  /** As `GateResult.worse`. */
  readonly worse?: true;
  readonly message: string;
}

/** One head of a verifier on problems that its fit never saw. */
export interface HeldOutHead {
  readonly name: string;
  readonly auc: number;
  readonly ece: number;
  /** Absent: it was not measured. */
  readonly brier?: number;
  readonly samples: number;
}

/** The map from energy to probability of one head, and from which probability on its acts pass. */
export interface HeadMap {
  readonly name: string;
  /** Labelled acts that it was fitted on. */
  readonly samples: number;
  /** By rising energy. */
  readonly knots: readonly { readonly energy: number; readonly probability: number }[];
  readonly veto: number;
}

/** Report of a verifier on its maps, or the reason that it cannot count. */
export type CalibrationMaps = { readonly heads: readonly HeadMap[] } | { readonly fault: string };

/** Report of a verifier on all its heads, or the reason that it cannot count. */
export type HeldOut = { readonly heads: readonly HeldOutHead[] } | { readonly fault: string };

/** Observations of one arm since the rollout's step began. */
export interface ArmEvidence {
  /** Tasks that ended, each counted once; without those that ended for a reason that is not theirs. */
  readonly tasks: { readonly passed: number; readonly total: number };
  /** Requests to the arm's engines, and those that failed. */
  readonly requests: { readonly failed: number; readonly total: number };
  /** Seconds until an answer, as a histogram of the engines has them. */
  readonly latencies: Cumulative;
  /** Energies of candidates that the arm was asked about. */
  readonly energies: readonly number[];
  /** Acts that were put to the verifier, and those that it vetoed. */
  readonly acts: { readonly vetoed: number; readonly total: number };
  /** Tasks in which the verifier let an act pass, and those of them that failed or were undone. */
  readonly passedActs: { readonly missed: number; readonly total: number };
  /** Tasks by the bin of the probability that the act of their last decision was given. */
  readonly scores: readonly number[];
  /** Rollbacks that were due, and those that were verified by hash. */
  readonly rollbacks: { readonly verified: number; readonly total: number };
  /** Draft tokens that the target took, where there is a draft. */
  readonly draft?: { readonly accepted: number; readonly proposed: number };
  /** Of golden sets, by the names of their gates. */
  readonly golden?: ReadonlyMap<string, GoldenEvidence>;
  /** Of a verifier on its held-out set. */
  readonly heldOut?: HeldOut;
  /** Of a verifier: how it makes probabilities of energies. */
  readonly maps?: CalibrationMaps;
  /** Of copies that the revision answered in shadow. */
  readonly shadow?: ShadowEvidence;
  /** Answers of PromQL queries by the name of their gate. */
  readonly queries?: ReadonlyMap<string, QueryAnswer>;
}

/** The answer of one query, or why there is none. */
export interface QueryAnswer {
  readonly value?: number;
  readonly lacks?: string;
}

/** Result of a golden set's Job for an arm; or what the arm lacks, where `stuck` means that only a person can bring it. */
export type GoldenEvidence = { readonly passed: number; readonly total: number } | { readonly lacks: string; readonly stuck: boolean };

/** Outcomes of copies of requests, for tasks that have ended. The stable verifier is the first of each table. */
export interface ShadowEvidence {
  readonly answered: number;
  /** Acts, by who refuses them. */
  readonly acts: Table;
  /** Those of tasks that succeeded. */
  readonly ofSucceeded: Table;
  /** The same acts by the bins of each verifier's energies. */
  readonly scores: { readonly stable: readonly number[]; readonly shadow: readonly number[] };
}

/** A gate whose metric has one bound, and needs samples. */
export interface BoundGate<M extends BoundMetric = Exclude<BoundMetric, 'TaskLoss'>> {
  readonly type: M;
  readonly name: string;
  /** The least or the greatest value that passes, by the metric. */
  readonly bound: number;
  readonly minSamples: number;
}

/** The fields of a gate that decide its finding. */
export type Bounded = Pick<BoundGate, 'bound' | 'minSamples'>;

/** A condition on a canary. */
export type Gate =
  | BoundGate
  | { readonly type: 'TaskLoss'; readonly name: string; readonly design: Design }
  | { readonly type: 'Query'; readonly name: string; readonly min?: number; readonly max?: number };

export interface GateResult {
  readonly name: string;
  readonly verdict: Verdict;
  /** Value found for the canary, and for the stable arm where they are compared; undefined when none was found. */
  readonly value: number | undefined;
  readonly baseline: number | undefined;
  /** Observations of the canary. */
  readonly samples: number;
  /** Of a sequential test: index of the look that gave the verdict. It is looked at once per look. */
  readonly look?: number;
  /** The canary looks worse than it may be, though nothing is decided: it gets no more tasks. Not kept in the status. */
  readonly worse?: true;
  /** Reason for the verdict, and what would change it. */
  readonly message: string;
}
