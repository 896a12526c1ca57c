import type { ToolDefinition } from '@agentfleet/protocol/chat';
import type { ActIdentity } from '../attempt/acts/earlierRun.ts';
import type { Baseline } from '../attempt/baseline.ts';
import type { Rewrite } from '../attempt/edits.ts';
import type { Gate } from '../attempt/gate.ts';
import type { Prepared } from '../attempt/prepare.ts';
import type { Scope } from '../attempt/scope.ts';
import type { ShellAct } from '@agentfleet/protocol/inference';

/** What a tool works with: the attempt, and which call this is. */
export interface ToolContext {
  readonly scope: Scope;
  readonly prepared: Prepared;
  readonly baseline: Baseline;
  /** Names this call for ever, in all workers: the same call has the same key, and its command the same `execId`. */
  readonly callKey: string;
  /** ULID for the n-th command of this call (0, 1, …): a keeper that knows it replays the command and never runs it again. */
  execId(n: number): string;
  /** What other tools keep in the conversation: plan, outputs that were cut, snapshots. */
  readonly memory: LoopMemory;
  /** Names what a command does outside of the sandbox, for the journal of effects. It judged the call already. */
  readonly gate: Gate;
  /** A person allowed the call. */
  readonly approved: boolean;
  /** Of commands that must not be run twice: stands in the log before they begin. */
  readonly identity?: ActIdentity;
}

/** A process that runs beside the conversation. */
export interface BackgroundProcess {
  /** As the model calls it. */
  readonly name: string;
  readonly execId: string;
  /** Number of the last event of its output that the model has seen. */
  readonly seen: number;
}

/** A snapshot that the model may go back to. */
export interface UndoPoint {
  /** Step after which it was taken; 0 is the start of the task. */
  readonly step: number;
  /** The call that changed the tree, in short, as models see no numbers of steps. */
  readonly by?: string;
  readonly id: string;
  readonly digest: string;
}

/** One item of the plan that `update_plan` keeps. */
export interface PlanItem {
  readonly text: string;
  readonly state: 'Open' | 'Active' | 'Done';
}

/** What survives in the event log beside the messages; a worker that takes over has the same. */
export interface LoopMemory {
  /** The plan that the model wrote last. */
  plan: readonly PlanItem[];
  /** Snapshots after steps that changed the tree, oldest first. */
  readonly undoPoints: readonly UndoPoint[];
  /** Processes that `bash` started in the background, the newest of each name; folded from `Observation.process`. */
  readonly processes: readonly BackgroundProcess[];
  /** The text of a handle; null when there is none. */
  stored(handle: string): string | null;
}

/** What a call would do to the sandbox, for the gates: files first, then commands. Empty for what only reads. */
export interface Proposed {
  readonly rewrites: readonly Rewrite[];
  readonly acts: readonly ShellAct[];
  /** Calls of other machines, a line each: what they do there is done outside of the sandbox. */
  readonly outside?: readonly string[];
}

/** What the model gets to see of a call. */
export interface Observation {
  /** Plain text, not yet cut: the loop cuts it to head and tail and keeps the rest under a handle. */
  readonly text: string;
  /** False: the call did not do what it was asked for. */
  readonly ok: boolean;
  /** The tree may have changed. */
  readonly changed?: boolean;
  /** Set by `run_checks`: whether every check of the task holds on the tree as it is. */
  readonly holds?: boolean;
  /** Set by `submit`: the model hands in. */
  readonly submission?: Submission;
  /** Set by `undo`: the snapshot that the tree is again. */
  readonly restored?: UndoPoint;
  /** Set by `bash`: a background process was started or looked at. */
  readonly process?: BackgroundProcess;
}

/** What a model hands in. */
export interface Submission {
  /** In words; what an investigation found, or what was done. */
  readonly answer: string;
  /** The model says that the goal cannot be reached. */
  readonly unreachable?: true;
}

/** Why arguments are not those of the tool: field and cure, for the model. */
export class ArgumentError extends Error {
  constructor(message: string) {
    super(message);
    this.name = 'ArgumentError';
  }
}

/**
 * A tool: one file in this folder, listed in `registry.ts`. Arguments are validated against `definition.parameters` before
 * `propose` and `run` see them.
 */
export interface Tool {
  readonly definition: ToolDefinition;
  /** Whether policy and pool of the attempt leave it to the model; absent: always. */
  offered?(scope: Scope): boolean;
  /** False: arguments are any object, as whoever does the call judges them. */
  readonly validates?: false;
  /** What it would do, for both gates; absent for tools of the risks Read and Control. @throws ArgumentError */
  propose?(args: Readonly<Record<string, unknown>>, context: ToolContext): Promise<Proposed>;
  /**
   * Does it, after the gates let it. Rejects with an ArgumentError for the model, or an AttemptFailure that ends the attempt.
   * A worker that takes over calls it again: commands run under `context.execId`, which the keeper replays; a call of risk
   * Edit does the same on the same tree, so that tree is restored first.
   */
  run(args: Readonly<Record<string, unknown>>, context: ToolContext): Promise<Observation>;
}
