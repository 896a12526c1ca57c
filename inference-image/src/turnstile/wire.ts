import type { Identity, Known, Purpose, UseState } from './member.ts';

/** Who was there, by the turnstile that was spoken to last; null: none was. */
export interface Memory {
  readonly boot: string | null;
  readonly members: readonly Known[];
}

export interface Greeting extends Identity, Memory {
  /** The process of its engine, as it was told last. */
  readonly load: string | null;
}

export interface Asking extends Identity, Memory {
  readonly id: string;
  readonly purpose: Purpose;
  /** It was granted before the connection broke, and is under way. */
  readonly held: boolean;
}

/** What a member is told. */
export interface Welcome {
  readonly boot: string;
  readonly load: string | null;
  readonly members: readonly Known[];
}

/** A line of the answer to a use. */
export interface UseLine extends Memory {
  readonly state: UseState;
}
