import type { AgentTask, AgentTaskStatus, Approval, Run, Usage, Reason } from '@agentfleet/protocol/api';
import type {
  Candidate,
  ControlStep,
  EnergyHead,
  FailingTest,
  Features,
  FocusFile,
  GenerateRequest,
  GenerateResponse,
} from '@agentfleet/protocol/inference';
import type { Decision, Risk } from '../rails/index.ts';
import type { KeeperClient } from '@agentfleet/keeper/client';
import type { ComputeBrief, ExpertEndpoint, PoolBrief } from '@agentfleet/protocol/pool';
import type { Clock, Log } from '@agentfleet/kube';
import type { ArtifactStore } from '../store/index.ts';
import type { ChatModels } from '../models/models.ts';

/** The planner's weights for the next step; uniform when none answers. */
export interface Control {
  /** By name of the expert; sums to 1. */
  readonly experts: Readonly<Record<string, number>>;
  /** P(the next step does harm); null: unknown. */
  readonly risk: number | null;
  readonly deliberate: boolean;
}

/** Facts known when a round is planned. */
export interface Situation {
  /** H of the proposals, nats; null before the first answer: not below any bound. */
  readonly entropyNats: number | null;
  /** dE, gap of the two best, nats; null for fewer than two: no margin. */
  readonly margin: number | null;
  /** P(the next step does harm); null: no planner that may act, which counts as no risk. */
  readonly risk: number | null;
  /** The planner reports that the work stands still. */
  readonly deliberate: boolean;
}

/** Amount of computation for the next round. */
export interface Plan {
  /** Candidates that are compared. */
  readonly k: number;
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

/** Context of a ranking, beside the candidates. */
export interface RankingContext {
  readonly files: readonly FocusFile[];
  readonly failing: readonly FailingTest[];
  /** Returns the suspicion of a place, 0…1; null: not known. */
  readonly suspicion: (path: string, line: number) => number | null;
  /** Median wall time of one trial, seconds; null before the first one. It decides what a better order may cost. */
  readonly trialSeconds: number | null;
  /** Features of the changed sources, by id of a candidate; asked only where a verifier reads them. Absent: they are not measured. */
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

/** Gate 2's opinion: an unsafe act needs low risk (Policy and Planner) and low energy. */
export interface SecondOpinion {
  readonly allowed: boolean;
  /** Part that refused it, and the number that it refused by; empty when it is allowed. */
  readonly why: string;
  readonly unsafe: number | null;
  readonly risk: number | null;
  readonly energy: number | null;
  readonly pSuccess: number | null;
}

/** An expert that took part, for the status. */
export type Participant = Readonly<Required<NonNullable<Run['experts']>[number]>>;

/**
 * The learned parts of one attempt: planner, verifier, policy, embedder, draft. Nothing here rejects but for the attempt's
 * signal: a part that does not answer is left out and named in `degraded`, and what follows is decided by the pool.
 */
export interface DecisionModels {
  readonly compute: ComputeBrief;
  control(steps: readonly ControlStep[]): Promise<Control>;
  /** Decides the amount of computation for a round; pure. */
  plan(situation: Situation): Plan;
  rank(candidates: readonly Candidate[], context: RankingContext): Promise<Ranking>;
  /** Energy of something that ran, by its whole features. Null where no verifier answers. */
  score(ranked: Ranked, executed: Features): Promise<{ readonly energy: number; readonly pSuccess: number | null } | null>;
  secondOpinion(act: ActInQuestion): Promise<SecondOpinion>;
  /** Reports whether a verifier reads a feature, as far as it has reported; one that is not read need not be measured. */
  reads?(feature: keyof Features): boolean;
  /** Parts that did not answer lately, and what is done without them. */
  readonly degraded: readonly string[];
  readonly participants: readonly Participant[];
}

export type Assignment = NonNullable<AgentTaskStatus['assignment']>;

/** Facts that an attempt reports; the runtime adds attempt and epoch, trims to the API's bounds and decides when to write. */
export type Report = Partial<Omit<Run, 'attempt' | 'epoch' | 'pendingApproval'>> & {
  /** undefined takes it out of the report. */
  readonly pendingApproval?: Run['pendingApproval'] | undefined;
};

/** Proposals. Rejects with an AttemptFailure when no expert answers. */
export interface Experts {
  /** The expert for a domain (`python`, …): how well it fits, times the planner's weight by name; without weights the best fit. */
  choose(domain: string, weights?: Readonly<Record<string, number>>): ExpertEndpoint;
  generate(expert: ExpertEndpoint, request: GenerateRequest, signal: AbortSignal): Promise<GenerateResponse>;
}

interface PersonMessage {
  /** Unique for ever: the uid of the order. */
  readonly id: string;
  readonly text: string;
  /** User name of who gave the order. */
  readonly by: string;
  /** All files are put back as they were at this snapshot before the model reads it. */
  readonly snapshot?: string;
}

/** Means that the engine of an attempt may use. Everything outside of the process comes in here. */
export interface AttemptContext {
  /** The task as of the assignment; its spec cannot change in what matters to the attempt. */
  readonly task: AgentTask;
  readonly assignment: Assignment;
  readonly pool: PoolBrief;
  readonly keeper: KeeperClient;
  readonly experts: Experts;
  /** The pool's chat models; absent where it has none. */
  readonly models?: ChatModels | undefined;
  readonly decisionModels: DecisionModels;
  readonly store: ArtifactStore;
  readonly clock: Clock;
  readonly log: Log;
  /** Used by earlier attempts of the task, for the budget; and by this attempt before this worker took it over. */
  readonly used: { readonly earlier: Usage; readonly before: Usage };
  /** Data of the ConfigMap of a ConfigMap workspace; rejects with an AttemptFailure when there is none. */
  readonly readConfigMap: (name: string) => Promise<Readonly<Record<string, string>>>;
  /**
   * Resolves when the store has all that the event log holds by now. To be awaited before anything that cannot be undone is
   * begun, whose intent is in the log. @throws AttemptFailure Infrastructure
   */
  intentDurable(): Promise<void>;
  /** Returns the decisions about acts that wait, as of now: `status.approvals` of the task. */
  approvals(): readonly Approval[];
  /** Messages of people that the model has not got yet, oldest first; the same until {@link messageTaken} names them. */
  messages(): readonly PersonMessage[];
  /**
   * Reports that the message is in the conversation; the event log has to hold it already. Naming it again changes nothing. A
   * worker that takes over may see a message that is in the log already, and recognises it by the id.
   */
  messageTaken(id: string): void;
  /** Reports that the first act of the task begins, after setup and baseline. */
  actedFirst?(): void;
  /** Resolves at the next change of the task, or when the signal is aborted; never rejects. */
  taskChanged(signal: AbortSignal): Promise<void>;
  /**
   * Aborted when the work has to end now: directive Stop, Rollback or Quiesce, a newer epoch, a lost lease. The reason
   * is a `Directive` or `'Lost'`.
   */
  readonly signal: AbortSignal;
  /** Merged into `status.run`. `urgent`, for what a person or the operator waits for, is written at once; the rest every 3 to 15 s. */
  report(change: Report, options?: { readonly urgent?: boolean }): void;
}

/** End of an attempt; written to `status.run.outcome`. */
export type Outcome = NonNullable<Run['outcome']> & { readonly reason: Reason };

/** Result of a rollback; written to `status.run.rollback`. */
export type Restored = NonNullable<Run['rollback']>;

/** Runs attempts. One instance serves all tasks of a worker and keeps nothing of a task. */
export interface AttemptEngine {
  /**
   * Brings the attempt to an outcome: imports, sets up, takes snapshot 0, judges the baseline, repairs, verifies, stores
   * the artifacts. Never rejects but for an aborted signal: every other failure is an outcome with a class.
   */
  run(context: AttemptContext): Promise<Outcome>;
  /** Restores the snapshot `which`, verified by hash, and stores revert script and trace. `Initial` falls back to a discard. */
  rollback(context: AttemptContext, which: 'Initial' | 'LastGreen'): Promise<Restored>;
}
