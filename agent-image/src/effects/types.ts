import type { EffectEnded, EffectPlanned, EffectUndone, Undo } from '@agentfleet/protocol/keeper';

export type { EffectEnded, EffectPlanned, EffectUndone, Undo };
export { effectNotes } from '@agentfleet/protocol/keeper';

/** What a command said, run where the act runs: same folder, same reach, same wall. */
export interface Answer {
  readonly exitCode: number | null;
  readonly stdout: string;
}

/** Asks in the sandbox; it must change nothing there. */
export type Probe = (argv: readonly string[], cwd?: string) => Promise<Answer>;

/** How an effect is taken back, or why nothing takes it back. */
export type Way = Undo | { readonly why: string };

/** One effect that an act will have, as its text tells, and what has to be asked about it. */
export interface EffectPlan {
  readonly kind: EffectPlanned['kind'];
  /** What it touches, in words. */
  readonly target: string;
  /** Looks before the act; what it returns looks after it, and says how to take the effect back, or null when there was none. */
  look(probe: Probe): Promise<(probe: Probe) => Promise<Way | null>>;
}
