// What a rollout makes of evidence that is missing or cannot be: it reports that with a cure, and nothing moves.
import type { RolloutReport } from './report.ts';
import { describe, expect, it } from 'vitest';
import type { AgentTask, RolloutPolicySpec } from '@agentfleet/protocol/api';
import { armWith } from '../rollout/gates/testing/evidence.ts';
import type { ArmEvidence } from '../rollout/index.ts';
import { engineEvidence, readMetrics } from './engines.ts';
import { Designs } from './policy.ts';
import { withFullBook } from './follow.ts';
import { progress, type Seen } from './progress.ts';
import { lateSampleOf } from './outcomes.ts';

const [a, b] = ['aaaaaaaaaa', 'bbbbbbbbbb'];
// A Sunday, in a window.
const start = Date.parse('2030-01-06T12:00:00Z');
const designs = new Designs();
const errors = { name: 'errors', metric: 'ErrorRate', atMost: '0.05', minSamples: 50 };
const query = { name: 'gpu', metric: 'Query', query: 'x', atMost: '1' };
const tasks = { passed: 500, total: 500 };
const spec = (more: object = {}): RolloutPolicySpec =>
  ({
    strategy: 'Canary',
    steps: [{ weight: 100, minSamples: 10, pauseSeconds: 5 }],
    gates: [errors],
    minSamples: 10,
    attributionWindowSeconds: 600,
    drainSeconds: 60,
    rollback: { freezeAfterFailures: 2 },
    promotion: { requireApproval: false, windows: [{ days: ['Sun'], start: '12:00', seconds: 3600 }] },
    ...more,
  }) as unknown as RolloutPolicySpec;

function look(
  status: RolloutReport | undefined,
  rollout: RolloutPolicySpec,
  second: number,
  canary: Partial<ArmEvidence>,
  desired = b,
): RolloutReport {
  const seen: Seen = {
    desired,
    canaryEngines: 'Ready',
    incompatible: undefined,
    lockedBy: undefined,
    evidence: () => ({ stable: armWith(), canary: armWith(canary) }),
    approved: undefined,
    retry: undefined,
    now: start + second * 1000,
  };
  return progress(status, rollout, seen, designs);
}

/** A revision that is tried, of which this is seen for so long. */
function tried(rollout: RolloutPolicySpec, canary: Partial<ArmEvidence>, seconds = 90_000): RolloutReport {
  let status = look(undefined, rollout, 0, {}, a);
  for (let second = 0; second <= seconds; second += 600) status = look(status, rollout, second, canary);
  return status;
}

const answered = { requests: { failed: 0, total: 1000 } };

describe('bad input of a rollout', () => {
  it.for<[string, object, Partial<ArmEvidence>, readonly string[]]>([
    [
      'a metric series is missing',
      {},
      { tasks, ...engineEvidence(readMetrics('# the engine tells others\nup 1\n')) },
      [
        'gate errors is InsufficientData: ErrorRate at most 0.05, 50 samples: 0 of 50 requests so far',
        'held until they come, or until another revision is asked for',
      ],
    ],
    [
      'the query of a gate errors',
      { gates: [errors, query] },
      { tasks, ...answered, queries: new Map([['gpu', { lacks: 'the query was refused: parse error' }]]) },
      ['gate gpu is InsufficientData', 'the query was refused: parse error', 'see the Prometheus server and the series'],
    ],
    [
      'a canary never gets samples',
      {},
      answered,
      ['0 of 10 tasks of this step were judged', 'held until they come, or until another revision is asked for'],
    ],
  ])('%s: it is held, with what is missing and what would bring it', ([, more, canary, words]) => {
    const held = tried(spec(more), canary);
    expect(held).toMatchObject({ phase: 'Canary', reason: 'Held', stable: a, canary: b, weight: 100 });
    for (const some of words) expect(held.message).toContain(some);
    // With its data it is promoted: nothing else held it.
    const whole = { tasks, ...answered, queries: new Map([['gpu', { value: 1 }]]) };
    expect(tried(spec(more), whole)).toMatchObject({ stable: b, reason: 'Promoted' });
  });

  it('the book of the tasks is full: what waits for more of them says that none are counted', () => {
    const held = tried(spec(), answered);
    const full = withFullBook(held, (id) => id === held.id);
    expect(full).toMatchObject({ phase: 'Canary', reason: 'Held' });
    expect(full.message).toMatch(
      /^100000 tasks are counted, and no more will be: lower minSamples .*0 of 10 tasks of this step were judged/,
    );
    expect(withFullBook(held, () => false)).toBe(held);
    const idle = look(undefined, spec(), 0, {}, a);
    expect(withFullBook(idle, () => true)).toBe(idle);
  });

  it('the clock goes back in a window: nothing is promoted, though the window is open and all gates pass', () => {
    const whole = { tasks, ...answered };
    const open = look(look(undefined, spec(), 1800, {}, a), spec(), 1800, whole);
    expect(open).toMatchObject({ phase: 'Canary', canary: b });
    const behind = look(open, spec(), 60, whole);
    expect(behind).toMatchObject({ phase: 'Canary', stable: a, weight: 100, reason: 'ClockSkew' });
    expect(behind.message).toMatch(/began 1740 s after now: .*; set the clocks of the nodes, nothing moves until then/);
    expect(look(behind, spec(), 1860, whole)).toMatchObject({ stable: b, reason: 'Promoted' });
    // Another operator may be some seconds ahead.
    expect(look(open, spec(), 1797, whole).reason).not.toBe('ClockSkew');
  });

  it('the clock of a task is ahead: it is not called late before its time', () => {
    const task = {
      metadata: { name: 't', uid: 'u' },
      spec: {},
      status: { clock: { startedAt: '2030-01-06T13:00:00Z', pausedSeconds: 0 } },
    };
    const late = (now: string) => lateSampleOf(task as unknown as AgentTask, b, 600, Date.parse(now));
    expect(late('2030-01-06T12:00:00Z')).toBeUndefined();
    expect(late('2030-01-06T13:09:59Z')).toBeUndefined();
    expect(late('2030-01-06T13:10:00Z')).toMatchObject({ passed: false });
  });
});
