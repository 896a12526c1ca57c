// client, src: public types of the client of AgentTasks. May import protocol and kube.
import type { AgentTask, AgentTaskOrder, AgentTaskSpec, AgentTaskStatus, ObjectMeta } from './types.ts';

/** A task to create: its name, or `generateName`, and its spec. */
export interface NewTask {
  readonly metadata: Partial<ObjectMeta> & { readonly generateName?: string };
  readonly spec: AgentTaskSpec;
}

export interface ListOptions {
  readonly labelSelector?: string;
  readonly signal?: AbortSignal;
}

export interface FollowOptions {
  /** `version` of an update: only later ones. */
  readonly since?: string | undefined;
  /** Ends the iteration. */
  readonly signal?: AbortSignal | undefined;
}

export interface OrderOptions {
  /** For the record. */
  readonly reason?: string;
  /** Seconds to wait until the operator has processed the order; default 30. 0: do not wait. */
  readonly timeoutSeconds?: number;
  readonly signal?: AbortSignal;
}

export interface DecideOptions extends OrderOptions {
  /** Digest of the act that was seen, from `pending.action`; default: that of the act that waits at the time of the call. */
  readonly action?: string;
}

/** Manner in which a task ends: after its step, with its tree put back, or at once. */
export type CancelMode = 'Stop' | 'Rollback' | 'Terminate';

/** An act, a question or a result that waits for a person. */
export type Pending = NonNullable<NonNullable<AgentTaskStatus['run']>['pendingApproval']>;

/** One state of a task. */
export interface TaskUpdate {
  readonly task: AgentTask;
  /** Summary for people; undefined until the operator saw the task. */
  readonly phase: string | undefined;
  readonly finished: boolean;
  /** The act, question or result that waits for a decision; undefined also where one was taken that the worker has not followed yet. */
  readonly pending: Pending | undefined;
  /** Goes into `FollowOptions.since` of a later call, also of another process. */
  readonly version: string;
}

/** A file that outlives the sandbox. */
export interface Artifact {
  readonly name: string;
  readonly bytes: number;
  /** SHA-256, hexadecimal. */
  readonly sha256: string;
}

/** A message of model, tools or people; members by `type`, see docs/reference/results.md. */
export interface ConversationLine {
  /** Number of the record in the event log; increasing. */
  readonly seq: number;
  readonly at: string;
  readonly type: string;
  readonly [member: string]: unknown;
}

export interface LineOptions {
  /** Only records after this one. */
  readonly since?: number | undefined;
  /** Goes on until the task has ended. */
  readonly follow?: boolean | undefined;
  readonly signal?: AbortSignal | undefined;
}

/** AgentTasks of one namespace, with the permission of the caller. Every method rejects with a FleetError. */
export interface FleetClient extends AsyncDisposable {
  readonly namespace: string;
  /** Returns a client of the same cluster and caller for another namespace; it shares the connections. */
  in(namespace: string): FleetClient;
  close(): Promise<void>;
  create(task: NewTask, signal?: AbortSignal): Promise<AgentTask>;
  get(name: string, signal?: AbortSignal): Promise<AgentTask>;
  list(options?: ListOptions): Promise<readonly AgentTask[]>;
  delete(name: string, signal?: AbortSignal): Promise<void>;
  /** The states of a task to its end; break out of the loop whenever it is enough. */
  follow(name: string, options?: FollowOptions): AsyncGenerator<TaskUpdate, void, undefined>;
  /** Follows a task to its end and returns it. @throws the reason of the signal when it aborts before */
  finished(name: string, options?: FollowOptions): Promise<AgentTask>;
  /** Lets the act or the result that waits pass. */
  approve(name: string, options?: DecideOptions): Promise<AgentTaskOrder>;
  reject(name: string, options?: DecideOptions): Promise<AgentTaskOrder>;
  /** Answers the question that waits. */
  answer(name: string, message: string, options?: DecideOptions): Promise<AgentTaskOrder>;
  /** Gives the model words at its next step. */
  message(name: string, message: string, options?: OrderOptions): Promise<AgentTaskOrder>;
  /** Ends a task; default: Rollback. Needs the right to patch it. */
  cancel(name: string, mode?: CancelMode, signal?: AbortSignal): Promise<AgentTask>;
  artifacts(name: string, signal?: AbortSignal): Promise<readonly Artifact[]>;
  /** Bytes of an artifact, held against its SHA-256. */
  artifact(name: string, file: string, signal?: AbortSignal): Promise<Uint8Array>;
  /** Yields the messages of model, tools and people. */
  conversation(name: string, options?: LineOptions): AsyncGenerator<ConversationLine, void, undefined>;
  /** Records of the event log. */
  log(name: string, options?: LineOptions): AsyncGenerator<Readonly<Record<string, unknown>>, void, undefined>;
}
