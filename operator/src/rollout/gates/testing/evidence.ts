import type { ArmEvidence } from '../gate.ts';

const none = { passed: 0, total: 0 };

/** An arm of which only this was seen. */
export function armWith(more: Partial<ArmEvidence> = {}): ArmEvidence {
  return {
    tasks: none,
    requests: { failed: 0, total: 0 },
    latencies: new Map(),
    energies: [],
    acts: { vetoed: 0, total: 0 },
    passedActs: { missed: 0, total: 0 },
    scores: [],
    rollbacks: { verified: 0, total: 0 },
    ...more,
  };
}

/** Times as a histogram of these bounds has them, and of all. */
export function latenciesOf(times: readonly number[], bounds: readonly number[]): ReadonlyMap<number, number> {
  return new Map([...bounds, Infinity].map((bound) => [bound, times.filter((time) => time <= bound).length]));
}
