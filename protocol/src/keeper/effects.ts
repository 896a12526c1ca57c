// protocol, keeper: notes about effects of acts outside of the sandbox. May import environment alone.

/**
 * Kinds of the notes about what acts do outside of the sandbox. `EffectPlanned` is on disk before the act, `EffectEnded`
 * after it; a plan without an end may or may not have happened. `EffectUndone` records that it was taken back, or why not.
 */
export const effectNotes = { planned: 'EffectPlanned', ended: 'EffectEnded', undone: 'EffectUndone' } as const;

/** Way to take an effect back. */
export interface Undo {
  /** Line for a shell in the workspace, which does nothing when the target has changed since. */
  readonly command: string;
  /** Prints `expected` once the effect is taken back, and only then; blanks at the ends do not count. */
  readonly proof: { readonly command: string; readonly expected: string };
}

export interface EffectPlanned {
  readonly id: string;
  readonly attempt: number;
  /** The whole act, as it was run. */
  readonly command: string;
  readonly kind: 'GitPush' | 'KubectlApply' | 'Branch' | 'PullRequest' | 'Other';
  /** Target that it touches, in words. */
  readonly target: string;
  /** A person allowed the act, or gate 2 where the rules of the task leave it to gate 2: its way back may run too. */
  readonly approved: boolean;
}

export interface EffectEnded {
  readonly id: string;
  readonly attempt: number;
  /** None: it was run, and looked at, and had no effect. Unknown: it was cut off. */
  readonly outcome: 'Done' | 'Failed' | 'None' | 'Unknown';
  readonly undo: Undo | null;
  /** Reason that nothing takes it back; empty with `undo` and for None. */
  readonly why: string;
}

/** A member of `external` in the description of a revert bundle. */
export interface ExternalEffect {
  readonly command: string;
  readonly target: string;
  readonly state: EffectEnded['outcome'] | 'Undone';
  /** Command that a person runs in the workspace to take it back; null when none is known that does. */
  readonly undo: string | null;
  /** Reason that nothing is known; empty with `undo`. */
  readonly why: string;
}

export interface EffectUndone {
  readonly id: string;
  readonly attempt: number;
  readonly undone: boolean;
  /** Reason that it was not undone; empty when it was. */
  readonly why: string;
}
