/** Messages between the page and its server: rows of the fleet, states of watches, errors. Types only. */
import type { AgentTask, AgentTaskOrder, EnergyModel, ExpertPool, ExpertScale, Phase, RolloutPolicy } from '@agentfleet/protocol/api';

/** A task as the fleet shows it: a tenth of the object. */
export interface TaskRow {
  /** `namespace/name`. */
  readonly key: string;
  readonly version: string;
  readonly namespace: string;
  readonly name: string;
  /** First line of the goal, cut. */
  readonly goal: string;
  readonly phase: Phase;
  /** Class of the newest failure of an attempt. */
  readonly failure?: string;
  readonly reason?: string;
  readonly pool?: string;
  /** Milliseconds since the epoch, as all times of a row. */
  readonly created: number;
  readonly started?: number;
  readonly ended?: number;
  readonly queuedSince?: number;
  readonly queuePosition?: number;
  readonly message?: string;
  readonly done?: number;
  readonly total?: number;
  readonly tokens: number;
  /** Decimal, in the currency of the pool. */
  readonly cost?: string;
  readonly budgetTokens?: number;
  readonly budgetCost?: string;
  readonly candidates: number;
  readonly vetoes: number;
  /** Calibrated probability that the last chosen candidate is good. */
  readonly pSuccess?: number;
  readonly energy?: number;
  readonly stableBins?: readonly number[];
  readonly shadowBins?: readonly number[];
  readonly rollout?: string;
  readonly revision?: string;
  /** The act, question or review that waits for a person. */
  readonly waits?: { readonly kind: 'Act' | 'Question' | 'Review'; readonly summary: string; readonly expires: number };
  /** Reason for which it cannot go on by itself, from the condition that reports it. */
  readonly stuck?: { readonly reason: string; readonly message: string };
}

/** Kinds that the page follows. Tasks travel as rows, the others whole. */
export const followed = ['AgentTask', 'ExpertPool', 'ExpertScale', 'EnergyModel', 'RolloutPolicy', 'AgentTaskOrder'] as const;
export type Followed = (typeof followed)[number];

export interface FollowedShapes {
  readonly AgentTask: TaskRow;
  readonly ExpertPool: ExpertPool;
  readonly ExpertScale: ExpertScale;
  readonly EnergyModel: EnergyModel;
  readonly RolloutPolicy: Omit<RolloutPolicy, 'status'>;
  readonly AgentTaskOrder: AgentTaskOrder;
}

/** Changes of one kind; `reset` before the first ones of a connection: what was known before is void. */
export interface LiveChange {
  readonly kind: Followed;
  readonly reset?: true;
  readonly upsert: readonly FollowedShapes[Followed][];
  readonly remove: readonly string[];
}

/** Visibility of a kind. Stale: the API server does not answer, the data that is shown is as of `since`. */
export interface KindState {
  readonly kind: Followed;
  readonly state: 'Loading' | 'Live' | 'Stale' | 'Denied';
  /** All, or the namespaces that are followed. */
  readonly namespaces: 'All' | readonly string[];
  /** Namespaces that were asked for and may not be read. */
  readonly denied: readonly string[];
  readonly message?: string;
}

export interface Session {
  readonly user: string;
  readonly mode: 'Token' | 'Proxy' | 'Kubeconfig';
  readonly readOnly: boolean;
  /** Sent back in the header `x-csrf-token` of every write. */
  readonly csrf: string;
  /** Namespace to begin with. */
  readonly namespace: string;
  readonly version: string;
}

/** Every error of `/api`. */
export interface Failure {
  readonly code: string;
  readonly message: string;
  readonly cure?: string;
}

/** Fields of an order that the page sends; the server fills in requester and name. */
export interface OrderRequest {
  readonly type: 'Approve' | 'Reject' | 'Answer' | 'Message' | 'Cancel';
  readonly action?: string;
  readonly message?: string;
  readonly snapshot?: string;
  readonly reason?: string;
}

/** A task with what is known about it beside. */
export interface TaskDetail {
  readonly task: AgentTask;
  readonly events: readonly TaskEvent[];
  /** Parts that could not be read, and why. */
  readonly notes: readonly string[];
}

export interface TaskEvent {
  readonly type: string;
  readonly reason: string;
  readonly note: string;
  readonly at: string;
  readonly count: number;
}

/** Effects of undoing a task's change: the description of its revert bundle. */
export interface UndoPlan {
  readonly from: string;
  readonly to: string;
  readonly ops: readonly { readonly op: string; readonly path: string }[];
  readonly irreversible: readonly { readonly path: string; readonly reason: string }[];
  readonly neverReverted: readonly string[];
  readonly external: readonly { readonly target: string; readonly state: string; readonly why: string }[];
}

/** Whether the event log of a task is whole. */
export interface AuditState {
  readonly ok: boolean;
  readonly records: number;
  /** Hash of the last record. */
  readonly head: string;
  /** Mismatches, by line. */
  readonly faults: readonly string[];
  /** Records after the head that the status reports. */
  readonly behindRoot: number;
}
