import type { RolloutOwnerStatus, RolloutReport } from './report.ts';
import { findCondition } from '@agentfleet/kube';
import type { AgentTask, RolloutPolicySpec } from '@agentfleet/protocol/api';
import { describe, expect, it } from 'vitest';
import type { ArmEvidence } from '../rollout/index.ts';
import { armWith } from '../rollout/gates/testing/evidence.ts';
import { armsOf, expertHash, poolRevision } from './arm.ts';
import { addSeries, readMetrics, since, engineEvidence, isWindowOpen } from './engines.ts';
import { Designs } from './policy.ts';
import { isOpen, progress, rolloutEvent, type Seen } from './progress.ts';
import { lateSampleOf, sampleOf } from './outcomes.ts';

const [a, b, c] = ['aaaaaaaaaa', 'bbbbbbbbbb', 'cccccccccc'];
const spec = {
  strategy: 'Canary',
  steps: [
    { weight: 10, minSamples: 10, pauseSeconds: 5 },
    { weight: 50, minSamples: 20, pauseSeconds: 5 },
  ],
  gates: [{ name: 'errors', metric: 'ErrorRate', atMost: '0.05', minSamples: 50 }],
  minSamples: 40,
  attributionWindowSeconds: 600,
  drainSeconds: 60,
  rollback: { freezeAfterFailures: 2 },
  promotion: { requireApproval: false },
} as unknown as RolloutPolicySpec;

const arm = (more: Partial<ArmEvidence> = {}): ArmEvidence => armWith({ requests: { failed: 0, total: 1000 }, ...more });

const start = Date.parse('2030-01-01T00:00:00Z');
const designs = new Designs();

function seen(second: number, more: Partial<Seen> = {}, canary: Partial<ArmEvidence> = {}): Seen {
  return {
    desired: b,
    canaryEngines: 'Ready',
    incompatible: undefined,
    lockedBy: undefined,
    evidence: () => ({ stable: arm(), canary: arm(canary) }),
    approved: undefined,
    retry: undefined,
    now: start + second * 1000,
    ...more,
  };
}

const serving = progress(undefined, spec, seen(0, { desired: a }), designs);

/** The status of an owner with a rollout. */
const reportedAs = ({ reason, message, ...rollout }: RolloutReport): RolloutOwnerStatus => ({
  rollout,
  conditions: [{ type: 'RolloutHealthy', status: 'False', reason, message, lastTransitionTime: '' }],
});

/** Looks every ten seconds; each brings ten more tasks. */
function looks(from: RolloutReport, count: number, more: Partial<Seen> = {}, canary: Partial<ArmEvidence> = {}, first = 1): RolloutReport {
  let status = from;
  for (let look = first; look < first + count; look += 1)
    status = progress(status, spec, seen(10 * look, more, { tasks: { passed: 10 * look, total: 10 * look }, ...canary }), designs);
  return status;
}

describe('a rollout as the status reports it', () => {
  it('begins with what the spec asks for, and goes by its steps to a flip in one write', () => {
    expect(serving).toMatchObject({ phase: 'Idle', stable: a, weight: 0, reason: 'Idle' });
    const weights: string[] = [];
    let status = serving;
    for (let look = 1; look < 30 && status.stable === a; look += 1) {
      status = looks(status, 1, {}, {}, look);
      weights.push(`${status.phase} ${status.weight}`);
    }
    expect(weights[0]).toBe('Canary 10');
    expect(weights).toContain('Canary 50');
    expect(weights.at(-1)).toBe('Idle 0');
    expect(status).toMatchObject({ stable: b, lastGreen: [a], reason: 'Promoted', samples: 40 });
    expect(status.canary).toBeUndefined();
  });

  describe('whose policy is edited while it goes on', () => {
    const all = { ...spec, minSamples: 3000, steps: [1, 10, 50].map((weight) => ({ weight, minSamples: 0, pauseSeconds: 5 })) };
    const follow = (
      from: RolloutReport,
      by: RolloutPolicySpec,
      count: number,
      arms: Partial<Record<'stable' | 'canary', Partial<ArmEvidence>>>,
    ) => {
      let status = from;
      const since = (Date.parse(from.since) - start) / 10_000;
      const evidence = () => ({ stable: arm(arms.stable), canary: arm(arms.canary) });
      for (let look = 1; look <= count; look += 1) status = progress(status, by, seen(10 * (since + look), { evidence }), designs);
      return status;
    };

    it('is at the last step when steps were taken out, and asks for all that this one asks for', () => {
      const unclear = { canary: { requests: { failed: 4, total: 100 } } };
      const last = follow(serving, all, 4, unclear);
      expect(last).toMatchObject({ phase: 'Canary', step: 2, weight: 50 });
      const shorter = follow(last, { ...all, steps: all.steps.slice(0, 2) }, 4, unclear);
      expect(shorter).toMatchObject({ phase: 'Canary', stable: a, step: 1, weight: 10, reason: 'InsufficientData' });
      expect(follow(shorter, { ...all, steps: all.steps.slice(2) }, 1, unclear)).toMatchObject({ step: 0, weight: 50, stable: a });
    });

    it('leaves tasks to the stable revision where a gate compares with them, whatever weight an older policy has', () => {
      const steps = [10, 100].map((weight) => ({ weight, minSamples: 0, pauseSeconds: 5 }));
      const equal = { tasks: { passed: 9, total: 10 } };
      const last = (metric: 'TaskLoss' | 'ErrorRate') =>
        follow(serving, { ...all, steps, gates: [{ name: 'one', metric }] }, 4, { canary: equal, stable: equal });
      const tasks = Array.from({ length: 200 }, (_, index) => armsOf(`uid-${index}`, undefined, last('TaskLoss')));
      expect(last('TaskLoss')).toMatchObject({ phase: 'Canary', step: 1, weight: 90 });
      expect(tasks.filter(({ revision, rollout }) => revision === a && rollout !== undefined).length).toBeGreaterThan(5);
      expect(last('ErrorRate')).toMatchObject({ phase: 'Canary', step: 1, weight: 100 });
    });

    const loss = (atMost: string) => ({ name: 'quality', metric: 'TaskLoss', atMost }) as const;
    const worse = { stable: { tasks: { passed: 900, total: 1000 } }, canary: { tasks: { passed: 780, total: 1000 } } };
    const approved = (gates: NonNullable<RolloutPolicySpec['gates']>): RolloutPolicySpec => ({
      ...all,
      minSamples: 100,
      promotion: { requireApproval: true },
      gates,
    });

    it('stops a canary that fails its tasks with the weight that it began with', () => {
      const seen: string[] = [];
      let status = serving;
      let failed = 0;
      for (; failed < 100 && !seen.includes('Idle 0'); failed += 1) {
        const arms = {
          canary: { tasks: { passed: 0, total: failed } },
          stable: { tasks: { passed: Math.floor(1.8 * failed), total: 2 * failed } },
        };
        status = follow(status, { ...all, gates: [loss('0.03')] }, 1, arms);
        seen.push(`${status.phase} ${status.weight}`);
      }
      expect([...new Set(seen)]).toEqual(['Canary 1', 'Idle 0']);
      expect(status).toMatchObject({ stable: a, reason: 'GateFailed' });
      expect(failed - 1).toBe(20);
    });

    it('is judged anew by a stricter bound', () => {
      const passed = follow(serving, approved([loss('0.2')]), 4, worse);
      expect(passed).toMatchObject({ reason: 'AwaitingApproval', gates: [{ verdict: 'Pass' }] });
      expect(passed.gates?.[0]?.message).toMatch(/^TaskLoss at most 0.2: /);
      expect(follow(passed, approved([loss('0.2')]), 1, {})).toMatchObject({ gates: passed.gates });
      expect(follow(passed, approved([loss('0.03')]), 1, worse)).toMatchObject({ phase: 'Idle', stable: a, reason: 'GateFailed' });
    });

    it('is judged anew by another metric of the same name', () => {
      const errors = { ...loss('0.05'), metric: 'ErrorRate', minSamples: 50 } as const;
      const none = { ...worse, canary: { tasks: { passed: 0, total: 1000 } } };
      const passed = follow(serving, approved([errors]), 4, none);
      expect(passed).toMatchObject({ reason: 'AwaitingApproval' });
      expect(follow(passed, approved([loss('0.03')]), 1, none)).toMatchObject({ phase: 'Idle', reason: 'GateFailed' });
    });

    it('keeps what copies said in shadow for the same bound alone', () => {
      const table = { both: 90, onlyFirst: 8, onlySecond: 8, neither: 200 };
      const shadow = { answered: 306, acts: table, ofSucceeded: table, scores: { stable: [], shadow: [] } };
      const agrees = (atLeast: string): RolloutPolicySpec => ({
        ...approved([{ name: 'agrees', metric: 'Agreement', atLeast, minSamples: 200 }]),
        strategy: 'ShadowThenCanary',
        shadow: { percent: 100, seconds: 1, minSamples: 100 },
      });
      const copies = (answered: number) => ({
        canary: { tasks: worse.stable.tasks, shadow: { ...shadow, acts: { ...table, neither: answered } } },
      });
      const passed = follow(serving, agrees('0.7'), 6, copies(200));
      expect(passed).toMatchObject({ phase: 'Canary', reason: 'AwaitingApproval', gates: [{ verdict: 'Pass' }] });
      // Copies of tasks that end later change nothing of it.
      expect(follow(passed, agrees('0.7'), 1, copies(1)).gates).toEqual(passed.gates);
      expect(follow(passed, agrees('0.95'), 1, copies(200))).toMatchObject({ phase: 'Idle', stable: a, reason: 'GateFailed' });
    });
  });

  it('goes back in the write in which a gate is seen to fail, and not again to what failed twice', () => {
    const open = looks(serving, 1);
    expect(isOpen(open)).toBe(true);
    const back = looks(open, 1, {}, { requests: { failed: 300, total: 1000 } }, 2);
    expect(back).toMatchObject({ phase: 'Idle', stable: a, weight: 0, reason: 'GateFailed', failures: { [b]: 1 } });
    expect(back.message).toMatch(/^bbbbbbbbbb: gate errors: .*; it is tried again 3600 s after that$/);
    expect(rolloutEvent(reportedAs(open), reportedAs(back))).toMatchObject({ type: 'Warning', reason: 'GateFailed', note: back.message });
    expect(looks(back, 1, {}, { requests: { failed: 300, total: 1000 } }, 3)).toEqual(back);
    expect(back.gates?.[0]).toMatchObject({ name: 'errors', verdict: 'Fail', value: '0.3' });
    const again = looks(back, 2, {}, { requests: { failed: 300, total: 1000 } }, 400);
    expect(again).toMatchObject({ phase: 'Frozen', stable: a, weight: 0, reason: 'Frozen' });
    expect(looks(again, 3, {}, {}, 500)).toEqual(again);
    // A word that was not heard before forgives; the same word does not do so twice.
    const forgiven = looks(again, 1, { retry: 'now' }, {}, 600);
    expect(forgiven).toMatchObject({ phase: 'Canary', canary: b, retried: 'now' });
    expect(forgiven.failures).toBeUndefined();
    const twice = looks(
      looks(forgiven, 1, { retry: 'now' }, { requests: { failed: 300, total: 1000 } }, 601),
      2,
      { retry: 'now' },
      { requests: { failed: 300, total: 1000 } },
      1000,
    );
    expect(twice.phase).toBe('Frozen');
  });

  it('that is asked for again after its engines failed is tried when what is left of them is gone', () => {
    const loading = looks(serving, 1, { canaryEngines: 'Loading' });
    const failed = looks(loading, 1, { canaryEngines: 'Failed' }, {}, 2);
    expect(failed).toMatchObject({ phase: 'Idle', reason: 'EnginesFailed', failures: { [b]: 1 } });
    expect(failed.message).toMatch(/did not come up: see their pods; it is tried again/);
    const asked = looks(failed, 1, { canaryEngines: 'Failed', retry: 'now' }, {}, 3);
    expect(asked).toMatchObject({ phase: 'Idle', reason: 'EnginesFailed', retried: 'now' });
    expect(asked.message).toMatch(/tried once they are gone or answer/);
    expect(asked.failures).toBeUndefined();
    expect(looks(asked, 1, { canaryEngines: 'Loading', retry: 'now' }, {}, 4)).toMatchObject({ phase: 'Loading', canary: b });
  });

  it('is counted anew in each rollout: another try has another id', () => {
    const first = looks(serving, 1);
    const back = looks(first, 1, {}, { requests: { failed: 300, total: 1000 } }, 2);
    const second = looks(back, 1, {}, {}, 400);
    expect(second.id).toMatch(/^b{10}-/);
    expect(second.id).not.toBe(first.id);
    expect(second).toMatchObject({ phase: 'Canary', step: 0 });
  });

  it('does not move while its clock is behind the time at which the phase began', () => {
    const open = looks(serving, 1);
    const behind = progress(open, spec, seen(-60, {}, { tasks: { passed: 900, total: 900 } }), designs);
    expect(behind).toMatchObject({ phase: 'Canary', weight: 10, stable: a, reason: 'ClockSkew' });
    expect(behind.message).toContain('set the clocks');
  });

  it('waits with a canary that never gets samples, and reports for what', () => {
    const held = looks(looks(serving, 1), 1, {}, { tasks: { passed: 0, total: 0 } }, 9000);
    expect(held).toMatchObject({ phase: 'Canary', weight: 10, stable: a, reason: 'Held' });
    expect(held.message).toContain('0 of 10 tasks');
  });

  it('keeps its whole state over the status, as text', () => {
    const open = looks(serving, 1);
    expect(JSON.parse(JSON.stringify(open))).toEqual(open);
    expect(looks(JSON.parse(JSON.stringify(open)) as RolloutReport, 8, {}, {}, 2).stable).toBe(b);
  });
});

describe('the arm of a task', () => {
  const trying = { ...looks(serving, 1), weight: 20 };
  const uids = Array.from({ length: 4000 }, (_, index) => `uid-${index}`);

  it('is the canary for as many as the weight sets, and twice as many are counted beside them', () => {
    const arms = uids.map((uid) => armsOf(uid, undefined, trying));
    const canary = arms.filter(({ revision }) => revision === b);
    const control = arms.filter(({ revision, rollout }) => revision === a && rollout !== undefined);
    expect(canary.length / uids.length).toBeCloseTo(0.2, 1);
    expect(canary.every(({ rollout }) => rollout === trying.id)).toBe(true);
    expect(control.length / canary.length).toBeGreaterThan(1.7);
    expect(control.length / canary.length).toBeLessThan(2.3);
  });

  it('stays the same for all attempts of a task, also when another revision is promoted', () => {
    const mine = uids.find((uid) => armsOf(uid, undefined, trying).revision === b) ?? '';
    const before = armsOf(mine, undefined, trying);
    expect(armsOf(mine, before, { ...trying, weight: 1 })).toEqual(before);
    const promoted = { ...serving, stable: c, lastGreen: [b] };
    expect(armsOf(mine, before, promoted)).toEqual(before);
  });

  it('is given up with a revision that was rolled back, and the task is counted for no arm then', () => {
    expect(armsOf('x', { revision: b, rollout: trying.id ?? '' }, serving)).toEqual({ revision: a });
    expect(armsOf('x', {}, trying)).toEqual({ revision: a });
    expect(armsOf('x', { revision: b }, undefined)).toEqual({});
  });
});

describe('the sample of a task for its arm', () => {
  const ended = (reason: string, status: 'True' | 'False' = 'False', last?: string): AgentTask =>
    ({
      metadata: { name: 't', uid: 'u' },
      spec: {},
      status: {
        finished: 'true',
        conditions: [{ type: 'Succeeded', status, reason, message: '', lastTransitionTime: '2030-01-01T00:00:00Z' }],
        ...(last === undefined ? {} : { attempts: [{ number: 1, startedAt: '2030-01-01T00:00:00Z', reason: last }] }),
        totals: { usage: { vetoes: 2, candidates: 10 } },
      },
    }) as unknown as AgentTask;

  it.each([
    ['ChecksPassed', 'True', true],
    ['CheckFailed', 'False', false],
    ['Stuck', 'False', false],
    ['DeadlineExceeded', 'False', false],
    ['Infrastructure', 'False', undefined],
    ['InvalidInput', 'False', undefined],
    ['Cancelled', 'False', undefined],
  ] as const)('%s', (reason, status, passed) => {
    const task = ended(reason, status);
    expect(findCondition(task.status?.conditions, 'Succeeded')?.reason).toBe(reason);
    expect(sampleOf(task, b)).toMatchObject({ passed, acts: { vetoed: 2, total: 10 } });
  });

  it('is a word on the acts that passed where a person had it undone', () => {
    const undone = (task: AgentTask, reason: string): AgentTask =>
      ({
        ...task,
        status: { ...task.status, conditions: [...(task.status?.conditions ?? []), { type: 'RolledBack', reason }] },
      }) as AgentTask;
    expect(sampleOf(undone(ended('Cancelled'), 'Restored'), b)).toMatchObject({ passed: undefined, revoked: true });
    for (const task of [undone(ended('Cancelled'), 'Discarded'), undone(ended('Infrastructure'), 'Restored'), ended('Cancelled')])
      expect(sampleOf(task, b)).not.toHaveProperty('revoked');
  });

  it('is nothing where the wall was broken, and failure where the time is over', () => {
    for (const reason of ['NetworkNotEnforced', 'NetworkOpened'])
      expect(sampleOf(ended('PolicyViolation', 'False', reason), b).passed).toBeUndefined();
    expect(sampleOf(ended('PolicyViolation', 'False', 'Forbidden'), b).passed).toBe(false);
    const open = (clock: object, suspend = false): AgentTask =>
      ({ metadata: { name: 't', uid: 'u' }, spec: { suspend }, status: { clock } }) as unknown as AgentTask;
    const startedAt = '2030-01-01T00:00:00Z';
    expect(lateSampleOf(open({ startedAt, pausedSeconds: 0 }), b, 600, start + 599_000)).toBeUndefined();
    expect(lateSampleOf(open({ startedAt, pausedSeconds: 0 }), b, 600, start + 600_000)).toMatchObject({ passed: false });
    expect(lateSampleOf(open({ startedAt, pausedSeconds: 60 }), b, 600, start + 600_000)).toBeUndefined();
    expect(lateSampleOf(open({ startedAt, pausedSeconds: 0, pausedAt: startedAt }), b, 600, start + 9e6)).toBeUndefined();
  });
});

describe('metrics of engines', () => {
  const text = (ok: number, bad: number): string => `# HELP x y
agentfleet_inference_requests_total{capability="generate",code="ok"} ${ok}
agentfleet_inference_requests_total{capability="generate",code="AF_INTERNAL"} ${bad}
agentfleet_inference_requests_total{capability="generate",code="AF_INVALID"} 7
agentfleet_inference_request_seconds_bucket{le="0.1",capability="generate"} ${ok / 2}
agentfleet_inference_request_seconds_bucket{le="0.5",capability="generate"} ${ok}
agentfleet_inference_request_seconds_bucket{le="+Inf",capability="generate"} ${ok}
`;

  it('report requests and failures that are the engine\u2019s, and times, since a look', () => {
    const now = since(addSeries(readMetrics(text(100, 10)), readMetrics(text(100, 0))), readMetrics(text(20, 2)));
    const { requests, latencies } = engineEvidence(now);
    expect(requests).toEqual({ failed: 8, total: 188 });
    expect([...latencies]).toEqual([
      [0.1, 90],
      [0.5, 180],
      [Infinity, 180],
    ]);
  });

  it('of vLLM are read by their names; what is not reported is missing', () => {
    const reported = readMetrics(
      'vllm:request_success_total{finished_reason="stop"} 5\nvllm:spec_decode_num_draft_tokens_total 40\nvllm:spec_decode_num_accepted_tokens_total 30\n',
    );
    expect(engineEvidence(reported)).toMatchObject({ requests: { failed: 0, total: 5 }, draft: { accepted: 30, proposed: 40 } });
    expect(engineEvidence(readMetrics('nothing here'))).toEqual({ requests: { failed: 0, total: 0 }, latencies: new Map() });
    expect(engineEvidence(undefined).requests.total).toBe(0);
  });

  it('of a server that began anew count from there', () => {
    expect(since(readMetrics(text(4, 0)), readMetrics(text(100, 0))).requests).toBe(4);
  });
});

describe('revisions', () => {
  const expert = (more: object = {}) =>
    ({ name: 'gen', role: 'Generalist', domains: ['*'], engine: { type: 'Synth' }, replicas: 1, ...more }) as never;
  const image = (): string => 'inference:1';

  it('are the same for another number of pods, and others for another engine, image or owner', () => {
    const one = poolRevision('u', [expert()], image);
    expect(poolRevision('u', [expert({ replicas: 9 })], image)).toBe(one);
    expect(one).toMatch(/^[0-9a-f]{10}$/);
    const others = [
      poolRevision('v', [expert()], image),
      poolRevision('u', [expert()], () => 'inference:2'),
      poolRevision('u', [expert({ engine: { type: 'Llama', llama: { threads: 1, contextTokens: 512 } } })], image),
      poolRevision('u', [expert(), expert({ name: 'py' })], image),
    ];
    expect(new Set([one, ...others]).size).toBe(5);
    expect(expertHash(expert(), 'i')).toBe(expertHash(expert({ replicas: 3 }), 'i'));
  });
});

describe('windows', () => {
  it('are open in the hours that they name, over midnight and the end of the week too', () => {
    const windows = [{ days: ['Sun' as const], start: '23:00', seconds: 7200 }];
    // 2030-01-06 is a Sunday.
    expect(isWindowOpen(windows, Date.parse('2030-01-06T22:59:59Z'))).toBe(false);
    expect(isWindowOpen(windows, Date.parse('2030-01-06T23:00:00Z'))).toBe(true);
    expect(isWindowOpen(windows, Date.parse('2030-01-07T00:59:59Z'))).toBe(true);
    expect(isWindowOpen(windows, Date.parse('2030-01-07T01:00:00Z'))).toBe(false);
    expect(isWindowOpen(undefined, 0)).toBe(true);
  });
});
