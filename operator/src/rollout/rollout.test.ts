import * as fc from 'fast-check';
import { describe, expect, test } from 'vitest';
import type { GateResult, Verdict } from './gates/index.ts';
import { advance, idle, type Evidence, type RolloutRules, type RolloutState } from './machine/index.ts';
import { goesToCanary } from './routing.ts';

const shadow = { percent: 20, seconds: 60, minSamples: 20 };
const policy: RolloutRules = {
  strategy: 'Canary',
  shadow,
  inShadow: [],
  beforeTraffic: [],
  steps: [
    { weight: 10, minSamples: 10, pauseSeconds: 5 },
    { weight: 50, minSamples: 20, pauseSeconds: 5 },
  ],
  minSamples: 3000,
  promotion: { requireApproval: false },
  rollback: { freezeAfterFailures: 2 },
};
const gate = (verdict: Verdict): GateResult => ({ name: 'g', verdict, value: 1, baseline: 1, samples: 9, message: 'm' });
const evidence: Evidence = {
  desired: 'b',
  canaryEngines: 'Ready',
  incompatible: undefined,
  gates: [gate('Pass')],
  stepSamples: 100,
  samples: 5000,
  answeredCopies: 20,
  lockedBy: undefined,
  approved: false,
  windowOpen: true,
  now: 1000,
};
const approving = { promotion: { requireApproval: true } };
const serving: RolloutState = { ...idle, stable: 'a' };

/** Goes on until nothing changes, with time that passes. */
function settle(state: RolloutState, seen: Partial<Evidence> = {}, by: Partial<RolloutRules> = {}, steps = 30): RolloutState {
  let current = state;
  for (let step = 0; step < steps; step += 1)
    current = advance(current, { ...policy, ...by }, { ...evidence, now: 1000 + 10 * step, ...seen });
  return current;
}

describe('a rollout', () => {
  test('goes by its steps to a flip of the pointer, and keeps what was green', () => {
    const seen: string[] = [];
    let state = serving;
    for (let step = 0; step < 20 && state.stable !== 'b'; step += 1) {
      state = advance(state, policy, { ...evidence, now: 1000 + 10 * step });
      seen.push(`${state.phase} ${state.weight}`);
    }
    expect(seen).toEqual(['Loading 0', 'Canary 10', 'Canary 50', 'Promoting 50', 'Idle 0']);
    expect(state).toMatchObject({ stable: 'b', canary: undefined, lastGreen: ['a'], reason: 'Promoted' });
  });

  test('rolls back at once when a gate fails, and freezes a revision that failed again', () => {
    const failing = { gates: [gate('Pass'), { ...gate('Fail'), name: 'task-pass' }] };
    const once = settle(serving, failing, {}, 3);
    expect(once).toMatchObject({ phase: 'Idle', stable: 'a', weight: 0, failures: { b: 1 }, reason: 'GateFailed' });
    expect(once.message).toContain('gate task-pass');
    const cooling = settle(once, { ...failing, now: once.phaseSince + 10 });
    expect(cooling).toMatchObject({
      phase: 'Idle',
      reason: 'GateFailed',
      message: 'b: gate task-pass: m; it is tried again 3600 s after that',
    });
    const others = settle({ ...once, reason: 'ClockSkew' }, { now: once.phaseSince + 10 });
    expect(others).toMatchObject({ reason: 'Cooldown', message: 'b failed; it is tried again 3600 s after that' });
    const frozen = settle(once, { ...failing, now: once.phaseSince + 7200 }, {}, 10);
    expect(frozen).toMatchObject({ phase: 'Frozen', stable: 'a', failures: { b: 2 } });
    expect(settle(frozen, { now: 1e9 })).toBe(frozen);
    expect(settle(frozen, { desired: 'c' }).stable).toBe('c');
    expect(settle(frozen, { desired: 'a' })).toMatchObject({ phase: 'Idle', canary: undefined });
  });

  test('holds while data is missing, whatever else passes', () => {
    const lacking = { gates: [gate('InsufficientData')] };
    const held = settle(settle(serving, lacking), { ...lacking, now: 100_000 });
    expect(held).toMatchObject({ phase: 'Canary', stable: 'a', weight: 10, reason: 'Held' });
    const few = settle(serving, { samples: 2999 });
    expect(few).toMatchObject({ phase: 'Canary', stable: 'a', weight: 50 });
    expect(few.message).toContain('2999 of 3000 tasks');
  });

  test('without a verdict yet gets more tasks, and is promoted only with one', () => {
    expect(settle(serving, { gates: [gate('Inconclusive')] })).toMatchObject({ phase: 'Canary', stable: 'a', weight: 50 });
    const worse = settle(serving, { gates: [{ ...gate('Inconclusive'), worse: true }] });
    expect(worse).toMatchObject({ phase: 'Canary', stable: 'a', weight: 10, reason: 'InsufficientData' });
  });

  test('does not begin while its counterpart changes, nor with what does not fit', () => {
    expect(settle(serving, { lockedBy: 'EnergyModel verifier' })).toMatchObject({ phase: 'Idle', reason: 'RolloutLocked' });
    expect(settle(serving, { incompatible: 'the tokenizer differs' })).toMatchObject({ phase: 'Idle', reason: 'Incompatible' });
  });

  test('waits for a human and for its window at the last step', () => {
    expect(settle(serving, {}, approving)).toMatchObject({ reason: 'AwaitingApproval', stable: 'a', weight: 50 });
    expect(settle(serving, { approved: true }, approving).stable).toBe('b');
    expect(settle(serving, { windowOpen: false })).toMatchObject({ reason: 'OutsideWindow', stable: 'a' });
  });

  test('that a person rejected is not tried again, whatever the policy allows later', () => {
    const half = settle(serving, { stepSamples: 0 }, {}, 3);
    const rejected = settle(half, { rejected: true }, {}, 3);
    expect(rejected).toMatchObject({ phase: 'Frozen', stable: 'a', weight: 0, reason: 'Frozen' });
    expect(rejected.message).toMatch(/a person rejected it/);
    const later = { now: 1e9 };
    expect(settle(rejected, later, { rollback: { freezeAfterFailures: 10 } })).toBe(rejected);
    const again = settle(settle(rejected, { desired: 'a', ...later }), later, { rollback: { freezeAfterFailures: 10 } });
    expect(again).toMatchObject({ phase: 'Frozen', canary: 'b', stable: 'a' });
    expect(again.message).toMatch(/^a person rejected b: give another revision/);
    expect(settle(rejected, { desired: 'c' }).stable).toBe('c');
    expect(settle({ ...rejected, failures: {} }).stable).toBe('b');
  });

  test.each([
    ['Canary', { stepSamples: 0 }],
    ['ShadowThenCanary', { answeredCopies: 0 }],
  ] as const)('goes on without gates when the policy becomes Recreate: %s', (strategy, seen) => {
    const half = settle(serving, seen, { strategy }, 3);
    expect(half.canary).toBe('b');
    const by = { strategy: 'Recreate' } as const;
    const blocked = { ...seen, gates: [gate('InsufficientData'), gate('Fail')] };
    expect(settle(half, { ...blocked, canaryEngines: 'Loading' }, by)).toMatchObject({ stable: 'a', canary: 'b', failures: {} });
    expect(settle(half, { ...blocked, canaryEngines: 'Absent' }, by)).toMatchObject({ stable: 'a', weight: 0, failures: {} });
    expect(settle(half, blocked, by, 2)).toMatchObject({ phase: 'Idle', stable: 'b', reason: 'Promoted', failures: {} });
  });

  test('waits with its promotion for a pod that is away for a moment, and goes on where it was', () => {
    const waiting = settle(serving, { canaryEngines: 'Ready' }, approving);
    const away = settle(waiting, { canaryEngines: 'Loading', approved: true }, approving);
    expect(away).toMatchObject({ phase: 'Canary', step: 1, weight: 50, stable: 'a', reason: 'Loading', failures: {} });
    expect(away.message).toContain('promoted when all of its pods answer');
    expect(settle(away, { approved: true }, approving).stable).toBe('b');
    expect(settle(away, { canaryEngines: 'Failed' }, {}, 2)).toMatchObject({ stable: 'a', failures: { b: 1 } });
  });

  test.each([
    ['Canary', {}, 'Canary', 50],
    ['ShadowThenCanary', { answeredCopies: 0 }, 'Shadowing', 0],
  ] as const)('gets nothing new while none of its engines answers, and goes on where it was: %s', (strategy, seen, phase, weight) => {
    const by = { strategy } as const;
    const waiting = settle(serving, { samples: 2000, ...seen }, by);
    expect(waiting).toMatchObject({ phase, weight });
    const away = settle(waiting, { canaryEngines: 'Absent' }, by);
    expect(away).toEqual({ ...waiting, weight: 0, reason: 'Loading', message: expect.stringContaining('what serves') as string });
    expect(settle(away, { canaryEngines: 'Absent', gates: [gate('Fail')] }, by, 2)).toMatchObject({ stable: 'a', failures: { b: 1 } });
    expect(settle(away, { samples: 2000, ...seen }, by)).toEqual(waiting);
    expect(settle(away, { canaryEngines: 'Failed' }, by, 2)).toMatchObject({ stable: 'a', reason: 'EnginesFailed', failures: { b: 1 } });
  });

  test('takes tasks on with engines of which some answer', () => {
    const waiting = settle(serving, { samples: 2000 });
    expect(settle(waiting, { samples: 2000, canaryEngines: 'Loading' })).toEqual(waiting);
  });

  test.each([
    'GateFailed',
    'EnginesFailed',
    'Incompatible',
    'Cooldown',
    'RolloutLocked',
    'RolloutRejected',
    'ClockSkew',
    'PolicyMissing',
  ] as const)('reports nothing of what is over once what serves is asked for again: %s', (reason) => {
    const before: RolloutState = {
      ...serving,
      reason,
      message: 'b: m; it is tried again 3600 s after that',
      failures: { b: 1 },
      phaseSince: 7,
    };
    const after = settle(before, { desired: 'a' });
    expect(after).toMatchObject({ phase: 'Idle', reason: 'Idle', message: 'what serves is what the spec asks for', failures: { b: 1 } });
    // Its wait goes on all the same.
    expect(settle(after, { now: 50 })).toMatchObject({ reason: 'Cooldown', canary: undefined });
  });

  test('gives way to another revision without calling the first one failed', () => {
    const half = settle(serving, { stepSamples: 0 }, {}, 3);
    expect(half.phase).toBe('Canary');
    expect(settle(half, { desired: 'c' })).toMatchObject({ stable: 'c', failures: {} });
  });

  test('engines that do not come up, or go away before the flip, lead back', () => {
    const loading = settle(serving, { canaryEngines: 'Loading' });
    expect(settle(loading, { canaryEngines: 'Failed' }, {}, 2)).toMatchObject({ stable: 'a', reason: 'EnginesFailed', failures: { b: 1 } });
    expect(settle(serving, { canaryEngines: 'Failed' })).toMatchObject({ phase: 'Idle', reason: 'EnginesFailed', failures: {} });
    const promoting: RolloutState = { ...serving, phase: 'Promoting', canary: 'b', weight: 50 };
    expect(settle(promoting, { canaryEngines: 'Loading' }, {}, 2)).toMatchObject({ stable: 'a', weight: 0 });
  });

  test('gets no task before the gates that need none pass, and goes back when one fails', () => {
    const by = { beforeTraffic: ['g'] };
    const waiting = settle(serving, { gates: [gate('Inconclusive')] }, by);
    expect(waiting).toMatchObject({ phase: 'Loading', weight: 0, reason: 'GoldenSet', phaseSince: 1010 });
    expect(waiting.gates).toHaveLength(1);
    const stuck = settle(waiting, { gates: [gate('InsufficientData')], now: 1500 }, by);
    expect(stuck).toMatchObject({ phase: 'Loading', weight: 0, reason: 'NoGoldenResult' });
    expect(settle(waiting, { gates: [], now: 1500 }, by)).toMatchObject({ phase: 'Loading', weight: 0 });
    expect(settle(waiting, { gates: [gate('InsufficientData')], now: 99_999 }, by)).toMatchObject({ phase: 'Loading', reason: 'Held' });
    const failed = settle(waiting, { gates: [gate('Fail')], now: 1500 }, by, 2);
    expect(failed).toMatchObject({ phase: 'Idle', stable: 'a', weight: 0, reason: 'GateFailed', failures: { b: 1 } });
    expect(settle(waiting, {}, by).stable).toBe('b');
    // A set that changed since is judged again before the weight grows.
    const half = settle(waiting, { stepSamples: 0 }, by);
    expect(half).toMatchObject({ phase: 'Canary', weight: 10 });
    expect(settle(half, { gates: [gate('Inconclusive')] }, by)).toMatchObject({ phase: 'Canary', weight: 10 });
  });

  test('is shadowed first when the strategy asks for it; the first revision has nothing to be compared with', () => {
    expect(settle(serving, {}, { strategy: 'ShadowThenCanary' }, 3)).toMatchObject({ phase: 'Shadowing', weight: 0 });
    expect(settle(serving, {}, { strategy: 'ShadowThenCanary' }).stable).toBe('b');
    expect(settle(serving, { answeredCopies: 19 }, { strategy: 'ShadowThenCanary' })).toMatchObject({ phase: 'Shadowing', weight: 0 });
    expect(settle(idle, { canaryEngines: 'Loading' }).stable).toBeUndefined();
    expect(settle(idle, { samples: 0, gates: [] }).stable).toBe('b');
  });

  test('in shadow: goes back when a gate fails, and waits for copies and for gates that only copies bring data for', () => {
    const by = { strategy: 'ShadowThenCanary', inShadow: ['g'] } as const;
    const dark = settle(serving, { gates: [gate('Inconclusive')] }, by);
    expect(dark).toMatchObject({ phase: 'Shadowing', weight: 0, reason: 'InsufficientData' });
    expect(settle(dark, { gates: [gate('Fail')] }, by, 2)).toMatchObject({
      phase: 'Idle',
      stable: 'a',
      reason: 'GateFailed',
      failures: { b: 1 },
    });
    expect(settle(dark, { gates: [] }, by)).toMatchObject({ phase: 'Shadowing' });
    expect(settle(dark, { gates: [gate('Inconclusive')] }, { ...by, inShadow: [] })).toMatchObject({ phase: 'Canary' });
    expect(settle(dark, { gates: [gate('InsufficientData')] }, { ...by, inShadow: [] })).toMatchObject({ phase: 'Shadowing' });
    const late = { answeredCopies: 0, now: 99_999 };
    expect(settle(dark, late, by)).toMatchObject({ phase: 'Shadowing', reason: 'Held', weight: 0 });
    expect(settle(dark, { desired: 'c', answeredCopies: 0 }, by)).toMatchObject({ canary: 'c', failures: {} });
  });

  test('whatever is seen: only what every gate passed with enough tasks ever serves, and no step is skipped', () => {
    const verdicts = fc.constantFrom<Verdict>('Pass', 'Pass', 'Pass', 'Fail', 'Inconclusive', 'InsufficientData');
    const seen = fc.record({
      desired: fc.constantFrom('a', 'b', 'b', 'c'),
      canaryEngines: fc.constantFrom('Ready', 'Ready', 'Ready', 'Loading', 'Absent', 'Failed'),
      gates: fc.array(verdicts.map(gate), { minLength: 1, maxLength: 3 }),
      stepSamples: fc.constantFrom(0, 15, 100),
      samples: fc.constantFrom(0, 2999, 3000),
      answeredCopies: fc.constantFrom(0, 19, 20, 20),
      lockedBy: fc.constantFrom(undefined, undefined, 'x'),
      approved: fc.boolean(),
      windowOpen: fc.boolean(),
      passed: fc.oneof(fc.nat({ max: 300 }), fc.constant(3600)),
      // A person may edit the policy at any time.
      from: fc.constantFrom(0, 0, 0, 1, 2),
    });
    const three = [{ weight: 1, minSamples: 10, pauseSeconds: 5 }, ...policy.steps];
    fc.assert(
      fc.property(fc.array(seen, { maxLength: 40 }), fc.constantFrom('Canary', 'ShadowThenCanary'), (history, strategy) => {
        let state = serving;
        let now = 0;
        for (const { passed, from, ...part } of history) {
          now += passed;
          const given = { ...evidence, ...part, now } as Evidence;
          const steps = three.slice(from);
          const next = advance(state, { ...policy, steps, strategy, inShadow: ['g'] }, given);
          if (strategy === 'ShadowThenCanary' && next.phase === 'Canary' && state.phase !== 'Canary') {
            expect(state.phase).toBe('Shadowing');
            expect(given.answeredCopies).toBeGreaterThanOrEqual(shadow.minSamples);
            expect(now - state.phaseSince).toBeGreaterThanOrEqual(shadow.seconds);
            expect(given.gates[0]?.verdict).toBe('Pass');
            expect(given.gates.every(({ verdict }) => verdict === 'Pass' || verdict === 'Inconclusive')).toBe(true);
          }
          if (next.stable !== state.stable) expect(state).toMatchObject({ phase: 'Promoting', canary: next.stable });
          if (next.phase === 'Promoting' && state.phase !== 'Promoting') {
            expect(state.phase).toBe('Canary');
            expect(state.step).toBeGreaterThanOrEqual(steps.length - 1);
            expect(given.gates.every(({ verdict }) => verdict === 'Pass')).toBe(true);
            expect(given.samples).toBeGreaterThanOrEqual(policy.minSamples);
          }
          if (next.weight > state.weight)
            expect(steps.findIndex(({ weight }) => weight === next.weight)).toBeLessThanOrEqual(state.step + 1);
          const isAway = given.canaryEngines === 'Absent' && state.phase === 'Canary';
          if (next.phase === 'Canary') expect(next.weight).toBe(isAway ? 0 : steps[next.step]?.weight);
          if (next.phase !== 'Canary' && next.phase !== 'Promoting') expect(next.weight).toBe(0);
          state = next;
        }
      }),
      { numRuns: 2000 },
    );
  });
});

describe('tasks of a canary', () => {
  test('are those of its weight, the same ones at every time, and more of them at a greater weight', () => {
    const uids = Array.from({ length: 5000 }, (_, index) => `uid-${index}`);
    const ten = uids.filter((uid) => goesToCanary(uid, 'r1', 10));
    expect(Math.abs(ten.length / uids.length - 0.1)).toBeLessThan(0.02);
    expect(ten.every((uid) => goesToCanary(uid, 'r1', 50))).toBe(true);
    expect(uids.filter((uid) => goesToCanary(uid, 'r1', 0))).toEqual([]);
    expect(uids.every((uid) => goesToCanary(uid, 'r1', 100))).toBe(true);
    const other = uids.filter((uid) => goesToCanary(uid, 'r2', 10));
    expect(other.filter((uid) => ten.includes(uid)).length).toBeLessThan(0.3 * ten.length);
  });
});
