import type { GateResult } from '../gates/index.ts';

export type Phase = 'Idle' | 'Loading' | 'Shadowing' | 'Canary' | 'Promoting' | 'RollingBack' | 'Frozen';

/** One step of a canary: a share of tasks until enough of them were judged. */
export interface Step {
  /** Percent of tasks, 1 to 100. A weight of 0 is no step: nothing would be learned. */
  readonly weight: number;
  readonly minSamples: number;
  readonly pauseSeconds: number;
}

export interface RolloutPolicy {
  readonly strategy: 'Canary' | 'ShadowThenCanary' | 'Recreate' | 'Manual';
  /** Of a revision in shadow: how long at least, and answered copies that it needs. */
  readonly shadowSeconds: number;
  readonly shadowSamples: number;
  /** Gates of copies: they have to pass in shadow, as nothing is copied later. */
  readonly inShadow: readonly string[];
  /** Gates that need no tasks: they have to pass before the first one is given to the canary. */
  readonly beforeTraffic: readonly string[];
  readonly steps: readonly Step[];
  /** Canary tasks that a promotion needs over all steps. */
  readonly minSamples: number;
  readonly onMissingData: 'Hold' | 'Abort';
  /** Seconds after which a step that never got its samples is given up. */
  readonly stepTimeoutSeconds: number;
  readonly requireApproval: boolean;
  readonly cooldownSeconds: number;
  readonly keepLastGreen: number;
  readonly freezeAfterFailures: number;
}

/** What status keeps of a rollout. Times are seconds since the epoch. */
export interface RolloutState {
  readonly phase: Phase;
  /** Where tasks go that do not go to the canary. */
  readonly stable: string | undefined;
  readonly canary: string | undefined;
  readonly weight: number;
  /** Index into the policy's steps. */
  readonly step: number;
  readonly phaseSince: number;
  /** Stable revisions before this one, the newest first. */
  readonly lastGreen: readonly string[];
  /** Failed rollouts by revision; a revision that failed as often as the policy says is frozen. */
  readonly failures: Readonly<Record<string, number>>;
  readonly gates: readonly GateResult[];
  readonly reason: string;
  readonly message: string;
}

/** What the controller found out since the last decision. */
export interface Evidence {
  /** Revision that the spec asks for. */
  readonly desired: string;
  /** How far the canary's engines are. `Failed` says that they will not come up. */
  readonly canaryEngines: 'Absent' | 'Loading' | 'Ready' | 'Failed';
  /** Whether the engines of the stable revision answer. */
  readonly stableReady: boolean;
  /** Why the revision cannot be rolled out: a digest that does not match, another tokenizer. Undefined when it can. */
  readonly incompatible: string | undefined;
  readonly gates: readonly GateResult[];
  /** Tasks of the canary that were judged: in this step and over all. */
  readonly stepSamples: number;
  readonly samples: number;
  /** Copies of requests that the revision answered in shadow. */
  readonly answeredCopies: number;
  /** Name of another rollout that is open: a generator and its verifier never change together. */
  readonly lockedBy: string | undefined;
  /** Whether a human approved this very revision. */
  readonly approved: boolean;
  /** Whether promotions are allowed at this hour. */
  readonly windowOpen: boolean;
  readonly now: number;
}
