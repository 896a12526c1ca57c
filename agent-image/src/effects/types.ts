import type { EffectPlanned, Undo } from '@agentfleet/protocol/keeper';

/** Output of a command that ran where the act runs: same folder, same reach, same isolation. */
export interface Answer {
  readonly exitCode: number | null;
  readonly stdout: string;
}

/** Asks in the sandbox; it must change nothing there. */
export type Probe = (argv: readonly string[], cwd?: string) => Promise<Answer>;

/** The compensation of an effect, or why there is none. */
export type Way = Undo | { readonly why: string };

/** One effect of an act, from its text, and the questions about it. */
export interface EffectPlan {
  readonly kind: EffectPlanned['kind'];
  /** Description of the affected object. */
  readonly target: string;
  /**
   * Observes before the act; the returned function observes after it, knowing whether the act succeeded, and returns the
   * compensation, or null when there was no effect.
   */
  look(probe: Probe): Promise<(probe: Probe, ok: boolean) => Promise<Way | null>>;
}
