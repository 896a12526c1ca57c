/** What an attempt may rely on. A fact is established by the node that made it true, and by nothing else. */
export type Fact =
  /** The workspace is in place and set up, and the snapshot `initial` is of it. */
  | 'InitialTaken'
  /** Every check ran at snapshot 0 and can tell whether the goal is reached. */
  | 'BaselineJudged'
  /** The tree of the node is a good snapshot, with nothing left behind by a command. */
  | 'TreeClean'
  /** All checks hold in place. */
  | 'ReachedInPlace'
  /** All checks hold in a fresh container on a restore of the result, and nothing protected changed. */
  | 'Verified';

/** What must hold before a node starts, and what it promises. */
export interface Contract {
  readonly requires: readonly Fact[];
  readonly establishes: readonly Fact[];
}

export type Facts = ReadonlySet<Fact>;

export const noFacts: Facts = new Set();

/** The first fact that is asked for and does not hold; null when all do. */
export function firstUnmet(needed: readonly Fact[], facts: Facts): Fact | null {
  return needed.find((fact) => !facts.has(fact)) ?? null;
}

/** The facts with more of them. */
export function establish(facts: Facts, more: readonly Fact[]): Facts {
  return new Set([...facts, ...more]);
}
