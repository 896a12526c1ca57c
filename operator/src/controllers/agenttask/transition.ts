import type { AgentTaskStatus, Run, Reason } from '@agentfleet/protocol/api';
import type { Held } from '../../pools/spending.ts';
import type { Pod } from '../../runtime/resources.ts';
import type { Refusal } from './acceptance.ts';
import type { WorkerView } from './snapshot.ts';
import type { Verdict } from './verdict.ts';

/** An act that the worker holds back. */
export type PendingApproval = NonNullable<Run['pendingApproval']>;

/** The volume of a new sandbox: one that is there, an empty one, or one from a snapshot. */
export type ClaimChoice =
  | { readonly kind: 'Held' | 'Create'; readonly name: string }
  | { readonly kind: 'Restore'; readonly name: string; readonly snapshot: string };

/** The sandbox of an attempt: the one that the task has, a new one, or one that waits ready. */
export type SandboxChoice =
  | { readonly kind: 'Held'; readonly name: string }
  | { readonly kind: 'Create'; readonly name: string; readonly claim?: ClaimChoice }
  | { readonly kind: 'Claim'; readonly name: string; readonly pod: Pod };

/**
 * How far a suspended task is: it has no sandbox; the sandbox is given back; the worker is to report that all is stored;
 * or nobody can report it, so that the sandbox is kept.
 */
export type Rest = 'NoSandbox' | 'Ending' | 'Quiescing' | 'Kept';

/** Where a decision takes the task. */
export type Transition =
  /** It has ended before. */
  | { readonly kind: 'Ended' }
  | { readonly kind: 'End'; readonly verdict: Verdict; readonly undone: Undone | undefined }
  | { readonly kind: 'Refuse'; readonly refusal: Refusal }
  | {
      readonly kind: 'Wait';
      readonly reason: Reason;
      readonly message: string;
      readonly untilMs?: number;
      readonly position?: number;
      /** Since when the wait counts as one in the queue is reported. */
      readonly queued?: boolean;
      /** Why the sandbox before did not come to work. */
      readonly because?: { readonly reason: Reason; readonly message: string };
      /** It will be over in a moment, so that it is not worth a write. */
      readonly brief?: boolean;
    }
  /** `held`: what the attempt may spend, where the pool caps that. */
  | { readonly kind: 'Bind'; readonly worker: WorkerView; readonly sandbox: SandboxChoice; readonly held?: Held }
  | { readonly kind: 'Run' }
  /** The worker holds an act back until a person, or the time, has decided. */
  | { readonly kind: 'Await'; readonly pending: PendingApproval }
  | { readonly kind: 'Suspend'; readonly rest: Rest }
  | { readonly kind: 'Stop' }
  /** `worker`: it is given to another one. */
  | { readonly kind: 'Rollback'; readonly verdict: Verdict; readonly worker?: WorkerView; readonly untilMs: number };

/** What has become of the changes; the condition RolledBack, and `status.rollback` where something was restored. */
export interface Undone {
  readonly status: 'True' | 'False';
  readonly reason: 'Restored' | 'Discarded' | 'NotVerified' | 'Kept';
  readonly message: string;
  readonly record?: AgentTaskStatus['rollback'];
}
