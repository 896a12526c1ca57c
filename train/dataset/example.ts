import type { EnergyHead, Features } from '@agentfleet/protocol/inference';

/** Version of the examples; others are refused. */
export const exampleSchema = 'agentfleet.dev/examples/v2';

/** Outcomes of an act. `PlausibleFail`: it passes what was visible and is wrong. `Flaky`: replays differ. */
export const strata = ['Pass', 'PlausibleFail', 'PolicyViolating', 'Flaky', 'Fail'] as const;
export type Stratum = (typeof strata)[number];

export const exampleSplits = ['train', 'calibration', 'heldOut'] as const;
export type ExampleSplit = (typeof exampleSplits)[number];

/** One labelled act, as training reads it. */
export interface Example {
  readonly id: string;
  /** All variants of one problem are in one split. */
  readonly problem: string;
  readonly split: ExampleSplit;
  readonly head: EnergyHead;
  readonly stratum: Stratum;
  readonly text: string;
  readonly operator: string;
  readonly features: Features;
  /** Result of each replay: whether all that judges the act passed. Empty where nothing was run. */
  readonly replays: readonly boolean[];
}

/** Replays that must agree before an act counts as good. */
export const stableReplays = 2;

/**
 * Stratum of an act that was run. Good only when it passed in all replays, and in two at least; fewer give none, so that the act is
 * left out.
 *
 * @param visible whether the tests that the search saw passed
 */
export function stratumOf(replays: readonly boolean[], visible: boolean): Stratum | null {
  const passed = replays.filter(Boolean).length;
  if (passed > 0 && passed < replays.length) return 'Flaky';
  if (passed > 0) return replays.length >= stableReplays ? 'Pass' : null;
  return visible ? 'PlausibleFail' : 'Fail';
}

export const isGood = ({ stratum }: Pick<Example, 'stratum'>): boolean => stratum === 'Pass';
