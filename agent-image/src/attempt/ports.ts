import type { KeeperClient } from '@agentfleet/keeper/client';
import type { AgentTask, AgentTaskStatus, Approval, Run, Usage, Reason } from '@agentfleet/protocol/api';
import type { ExpertEndpoint, PoolBrief } from '@agentfleet/protocol/pool';
import type { GenerateRequest, GenerateResponse } from '@agentfleet/protocol/inference';
import type { Clock, Log } from '@agentfleet/kube';
import type { ArtifactStore } from '../store/index.ts';
import type { ChatModels } from '../models/models.ts';
import type { DecisionModels } from './decisionModels.ts';

export type Assignment = NonNullable<AgentTaskStatus['assignment']>;

/** What an attempt reports; the runtime adds attempt and epoch, trims to the API's bounds and decides when to write. */
export type Report = Partial<Omit<Run, 'attempt' | 'epoch' | 'pendingApproval'>> & {
  /** undefined takes it out of the report. */
  readonly pendingApproval?: Run['pendingApproval'] | undefined;
};

/** Proposals. Rejects with an ExpertFailure when no expert answers. */
export interface Experts {
  /** The expert for a domain (`python`, …): how well it fits, times the planner's weight by name; without weights the best fit. */
  choose(domain: string, weights?: Readonly<Record<string, number>>): ExpertEndpoint;
  generate(expert: ExpertEndpoint, request: GenerateRequest, signal: AbortSignal): Promise<GenerateResponse>;
}

/** Words of a person for the model. */
export interface PersonMessage {
  /** Unique for ever: the uid of the order. */
  readonly id: string;
  readonly text: string;
  /** User name of who gave the order. */
  readonly by: string;
}

/** What the engine of an attempt may use. Everything outside of the process comes in here. */
export interface AttemptContext {
  /** The task as of the assignment; its spec cannot change in what matters to the attempt. */
  readonly task: AgentTask;
  readonly assignment: Assignment;
  readonly pool: PoolBrief;
  readonly keeper: KeeperClient;
  readonly experts: Experts;
  /** The pool's chat models; absent where it has none. */
  readonly models?: ChatModels | undefined;
  /** Ranks, judges and says how much to compute. */
  readonly decisionModels: DecisionModels;
  readonly store: ArtifactStore;
  readonly clock: Clock;
  readonly log: Log;
  /** Used by earlier attempts of the task, for the budget; and by this attempt before this worker took it over. */
  readonly used: { readonly earlier: Usage; readonly before: Usage };
  /** Data of the ConfigMap of a ConfigMap workspace; rejects with an InputFailure when there is none. */
  readonly readConfigMap: (name: string) => Promise<Readonly<Record<string, string>>>;
  /**
   * Resolves when the store has all that the event log says by now. To be awaited before anything that cannot be undone is
   * begun, whose intent is in the log. @throws AttemptFailure Infrastructure
   */
  intentDurable(): Promise<void>;
  /** What was decided about acts that wait, as of now: `status.approvals` of the task. */
  approvals(): readonly Approval[];
  /** Messages of people that the model has not got yet, oldest first; the same until {@link messageTaken} names them. */
  messages(): readonly PersonMessage[];
  /**
   * Reports that the message is in the conversation, which has to be in the event log by then; naming it again changes
   * nothing. Whoever takes over may see a message that is in the log already, and recognises it by the id.
   */
  messageTaken(id: string): void;
  /** Resolves at the next change of the task, or when the signal is aborted; never rejects. */
  taskChanged(signal: AbortSignal): Promise<void>;
  /**
   * Aborted when the work has to end now: directive Stop, Rollback or Quiesce, a newer epoch, a lost lease. The reason
   * is a `Directive` or `'Lost'`.
   */
  readonly signal: AbortSignal;
  /** Merged into `status.run`; `urgent` is written at once, the rest at most every 3 s. */
  report(change: Report, options?: { readonly urgent?: boolean }): void;
}

/** How an attempt ended; written to `status.run.outcome`. */
export type Outcome = NonNullable<Run['outcome']> & { readonly reason: Reason };

/** What a rollback did; written to `status.run.rollback`. */
export type Restored = NonNullable<Run['rollback']>;

/** Runs attempts. One instance serves all tasks of a worker and keeps nothing of a task. */
export interface AttemptEngine {
  /**
   * Brings the attempt to an outcome: imports, sets up, takes snapshot 0, judges the baseline, repairs, verifies, stores
   * the artifacts. Never rejects but for an aborted signal: every other failure is an outcome with a class.
   */
  run(context: AttemptContext): Promise<Outcome>;
  /** Restores what `which` says, verified by hash, and stores revert script and trace. `Initial` falls back to a discard. */
  rollback(context: AttemptContext, which: 'Initial' | 'LastGreen'): Promise<Restored>;
}
