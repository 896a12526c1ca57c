import type { Compute, ExpertRole } from '@agentfleet/protocol/api';
import type { Candidate, ControlStep, EnergyHead, FailingTest, Features, FocusFile } from '@agentfleet/protocol/inference';
import type { Decision, Risk } from '../rails/index.ts';

/** What the planner says about the next step; uniform when none answers. */
export interface Control {
  readonly tools: Readonly<Record<'ExecCode' | 'Shell' | 'Files' | 'Editor', number>>;
  /** By name of the expert; sums to 1. */
  readonly experts: Readonly<Record<string, number>>;
  /** P(the next step does harm); null: nobody says so. */
  readonly risk: number | null;
  readonly deliberate: boolean;
}

/** What is known when a round is planned. */
export interface Situation {
  /** H of the proposals, nats; null before the first answer: not below any bound. */
  readonly entropyNats: number | null;
  /** dE, gap of the two best, nats; null for fewer than two: no margin. */
  readonly margin: number | null;
  /** P(the next step does harm); null: no planner that may act, which counts as no risk. */
  readonly risk: number | null;
  /** The planner says that the work stands still. */
  readonly deliberate: boolean;
}

/** How much is computed for the next round. */
export interface Plan {
  /** Candidates that are compared. */
  readonly k: number;
  readonly fast: boolean;
  readonly deliberate: boolean;
}

/** A candidate and what is known about it before it is tried. */
export interface Ranked {
  readonly candidate: Candidate;
  /** Null where no verifier answered. */
  readonly energy: number | null;
  readonly pSuccess: number | null;
  readonly features: Features;
}

/** What ranking is about, beside the candidates. */
export interface RankingContext {
  readonly files: readonly FocusFile[];
  readonly failing: readonly FailingTest[];
  /** How suspicious a place is, 0…1; null: not known. */
  readonly suspicion: (path: string, line: number) => number | null;
  /** Median wall time of one trial, seconds; null before the first one. It decides what a better order may cost. */
  readonly trialSeconds: number | null;
  /** Features of the changed sources, by id of a candidate; asked only where a verifier reads them. Absent: nobody measures. */
  readonly measure?: (candidates: readonly Candidate[]) => Promise<ReadonlyMap<string, Features>>;
}

export interface Ranking {
  /** The best first. */
  readonly ranked: readonly Ranked[];
  /** Energy gap of the two best; null for fewer than two. */
  readonly margin: number | null;
}

/** An act that gate 1 neither allowlists nor refuses by itself. */
export interface ActInQuestion {
  readonly head: EnergyHead;
  readonly tool: 'ExecCode' | 'Shell' | 'FileWrite';
  /** The command as a shell would read it; for FileWrite the path. */
  readonly subject: string;
  /** The lines that FileWrite adds. */
  readonly content?: string;
  readonly operator: string;
  readonly rails: { readonly decision: Decision; readonly risk: Risk; readonly findings: readonly string[] };
  readonly features: Features;
}

/** What gate 2 says: an unsafe act needs low risk (Policy and Planner) and low energy. */
export interface SecondOpinion {
  readonly allowed: boolean;
  /** Which part refused it and by which number; empty when it is allowed. */
  readonly why: string;
  readonly unsafe: number | null;
  readonly risk: number | null;
  readonly energy: number | null;
  readonly pSuccess: number | null;
}

/** An expert that took part, for the status. */
export interface Participant {
  readonly role: ExpertRole | 'Verifier';
  readonly name: string;
  readonly digest: string;
}

/**
 * The learned parts of one attempt: planner, verifier, policy, embedder, draft. Nothing here rejects but for the attempt's
 * signal: a part that does not answer is left out and named in `degraded`, and what follows is decided by the pool.
 */
export interface DecisionModels {
  readonly compute: { readonly [K in keyof Compute]: number };
  control(steps: readonly ControlStep[]): Promise<Control>;
  /** How much to compute; pure. */
  plan(situation: Situation): Plan;
  rank(candidates: readonly Candidate[], context: RankingContext): Promise<Ranking>;
  /** Energy of something that ran, by its whole features. Null where no verifier answers. */
  score(ranked: Ranked, executed: Features): Promise<{ readonly energy: number; readonly pSuccess: number | null } | null>;
  secondOpinion(act: ActInQuestion): Promise<SecondOpinion>;
  /** Whether a verifier reads a feature, as far as it has reported; one that nobody reads need not be measured. */
  reads?(feature: keyof Features): boolean;
  /** Parts that did not answer lately, and what is done without them. */
  readonly degraded: readonly string[];
  readonly participants: readonly Participant[];
}
