import type { RolloutReport } from './report.ts';
import * as fc from 'fast-check';
import { describe, expect, it } from 'vitest';
import type { AgentTask, RolloutPolicySpec, ShadowReport } from '@agentfleet/protocol/api';
import type { ArmEvidence, ShadowEvidence } from '../rollout/index.ts';
import { armWith } from '../rollout/gates/testing/evidence.ts';
import { armsOf } from './arm.ts';
import { countLedger, emptyLedger, ledgerOf, ledgerText, type Sample } from './ledger.ts';
import { Designs } from './policy.ts';
import { progress, type Seen } from './progress.ts';
import { copiesUnderWay, mostShadowTasks, noShadow, shadowEvidence, shadowReportOf, type ShadowTallies } from './shadow.ts';

const [a, b] = ['aaaaaaaaaa', 'bbbbbbbbbb'];
const id = `${b}-1`;

function report(more: Partial<ShadowReport> = {}): ShadowReport {
  return {
    rollout: id,
    answered: 9,
    failed: 1,
    dropped: 2,
    candidates: 2,
    sameCandidates: 1,
    bothVetoed: 1,
    onlyStableVetoed: 2,
    onlyShadowVetoed: 3,
    neitherVetoed: 4,
    ...more,
  };
}

const sample = (uid: string, shadow: ShadowReport | null, passed = true): Sample => ({
  uid,
  revision: a,
  passed,
  acts: { vetoed: 1, total: 4 },
  rolledBack: true,
  energy: 0.5,
  shadow,
});

describe('the book of a shadow', () => {
  it('counts the copies of each task once, however often and in whatever order it is seen, and for no arm', () => {
    const all = Array.from({ length: 60 }, (_, index) => sample(`uid-${index}`, report(), index % 3 !== 0));
    const order = fc.shuffledSubarray([...all, ...all], { minLength: 2 * all.length });
    fc.assert(
      fc.property(order, fc.integer({ min: 1, max: 20 }), (seen, size) => {
        let ledger = emptyLedger(id);
        for (let at = 0; at < seen.length; at += size) ledger = ledgerOf(ledgerText(countLedger(ledger, seen.slice(at, at + size))), id)!;
        expect(ledger.arms).toEqual({});
        expect(ledger.shadow).toMatchObject({
          tasks: 60,
          copies: { answered: 540, failed: 60, dropped: 120 },
          acts: { both: 60, onlyFirst: 120, onlySecond: 180, neither: 240 },
          ofSucceeded: { both: 40, onlyFirst: 80, onlySecond: 120, neither: 160 },
          ofFailed: { both: 20, onlyFirst: 40, onlySecond: 60, neither: 80 },
        });
      }),
      { numRuns: 20 },
    );
  });

  it('reports nothing of success where the end is not of who judged, and counts tasks without copies', () => {
    const ledger = countLedger(emptyLedger(id), [{ ...sample('x', report()), passed: undefined }, sample('y', null)]);
    const { tasks, ofSucceeded, ofFailed, acts } = ledger.shadow ?? noShadow;
    expect([tasks, ofSucceeded.neither, ofFailed.neither, acts.neither]).toEqual([2, 0, 0, 4]);
    expect(shadowEvidence(ledger.shadow ?? noShadow).answered).toBe(9);
  });

  it('counts acts by the probabilities of both verifiers, once, and leaves out bins of other workers', () => {
    const bins = (bin: number): number[] => Array.from({ length: 10 }, (_, at) => Number(at === bin));
    const reported = (stableBins: number[], shadowBins: number[]): ShadowReport => report({ stableBins, shadowBins });
    const all = [
      sample('x', reported(bins(0), bins(9))),
      sample('y', reported(bins(0), bins(8))),
      sample('older', report()),
      sample('half', report({ stableBins: bins(3) })),
      sample('newer', reported([1, 2], [3, 4])),
    ];
    const ledger = ledgerOf(ledgerText(countLedger(countLedger(emptyLedger(id), all), all.toReversed())), id)!;
    expect(shadowEvidence(ledger.shadow ?? noShadow).scores).toEqual({
      stable: [2, 0, 0, 0, 0, 0, 0, 0, 0, 0],
      shadow: [0, 0, 0, 0, 0, 0, 0, 0, 1, 1],
    });
  });

  it('stays beside the arms, and is another one in another rollout', () => {
    const { shadow: _, ...plain } = sample('arm', null);
    const ledger = countLedger(emptyLedger(id), [sample('x', report()), plain]);
    expect(ledger.arms[a]?.tasks).toEqual({ passed: 1, total: 1 });
    expect(ledger.shadow?.tasks).toBe(1);
    expect(ledgerOf(ledgerText(ledger), 'cccccccccc-1')?.shadow).toBeUndefined();
    expect(ledgerOf(ledgerText(ledger), id)).toEqual(ledger);
  });

  it('holds no more tasks than fit beside those of the arms', () => {
    const full: ShadowTallies = { ...noShadow, tasks: mostShadowTasks };
    const ledger = { ...emptyLedger(id), shadow: full };
    expect(countLedger(ledger, [sample('x', report())])).toBe(ledger);
  });
});

describe('what a task reports of copies', () => {
  const task = (shadow: string | undefined, reported: ShadowReport | undefined): AgentTask =>
    ({ metadata: { name: 't' }, status: { assignment: { shadow }, run: { shadow: reported } } }) as unknown as AgentTask;

  it('is that of the rollout in whose shadow phase it was assigned', () => {
    expect(shadowReportOf(task(id, report()))).toEqual(report());
    expect(shadowReportOf(task(id, report({ rollout: `${b}-0` })))).toBeNull();
    expect(shadowReportOf(task(undefined, report()))).toBeNull();
    expect(copiesUnderWay([task(id, report()), task(id, undefined), task(id, report())]).answered).toBe(18);
  });
});

const spec = {
  strategy: 'ShadowThenCanary',
  shadow: { percent: 20, seconds: 60, minSamples: 20, maxInFlight: 4 },
  steps: [{ weight: 50, minSamples: 5, pauseSeconds: 0 }],
  gates: [
    { name: 'kappa', metric: 'Agreement', atLeast: '0.85', minSamples: 20 },
    { name: 'errors', metric: 'ErrorRate', atMost: '0.05', minSamples: 50 },
    { name: 'undone', metric: 'RollbackSuccess', atLeast: '0.5', minSamples: 2 },
  ],
  minSamples: 5,
  attributionWindowSeconds: 600,
  drainSeconds: 60,
  rollback: { freezeAfterFailures: 2 },
  promotion: { requireApproval: false },
} as unknown as RolloutPolicySpec;

const start = Date.parse('2030-01-01T00:00:00Z');
const designs = new Designs();
const arm = (more: Partial<ArmEvidence> = {}): ArmEvidence => armWith({ requests: { failed: 0, total: 1000 }, ...more });
const agreeing = { answered: 300, acts: { both: 60, onlyFirst: 0, onlySecond: 0, neither: 240 } };
const shadow = (more: object = {}): ShadowEvidence => ({ ...agreeing, ofSucceeded: agreeing.acts, scores: noShadow.scores, ...more });

function look(
  status: RolloutReport | undefined,
  second: number,
  canary: Partial<ArmEvidence>,
  desired: string = b,
  more: { readonly spec?: RolloutPolicySpec; readonly stable?: Partial<ArmEvidence> } = {},
): RolloutReport {
  const seen: Seen = {
    desired,
    canaryEngines: 'Ready',
    incompatible: undefined,
    lockedBy: undefined,
    evidence: () => ({ stable: arm(more.stable), canary: arm(canary) }),
    approved: undefined,
    retry: undefined,
    now: start + 1000 * second,
  };
  return progress(status, more.spec ?? spec, seen, designs);
}
const serving = look(undefined, 0, {}, a);

describe('a rollout with a shadow phase', () => {
  const dark = look(serving, 1, {});

  it('begins in shadow, where gates of tasks are not asked for', () => {
    expect(dark).toMatchObject({ phase: 'Shadowing', weight: 0, stable: a, canary: b, reason: 'InsufficientData' });
    expect(dark.gates?.map(({ name }) => name)).toEqual(['kappa', 'errors']);
    expect(look(dark, 90_000, {})).toMatchObject({ phase: 'Shadowing', reason: 'Held', weight: 0 });
  });

  it('goes on to tasks when copies agree, for as long as it is reported, and their result stands', () => {
    const early = look(dark, 40, { shadow: shadow() });
    expect(early).toMatchObject({ phase: 'Shadowing', reason: 'Shadowing' });
    const tried = look(early, 61, { shadow: shadow() });
    expect(tried).toMatchObject({ phase: 'Canary', weight: 50, samples: 0, samplesBefore: 0 });
    expect(tried.gates?.map(({ name, verdict }) => `${name} ${verdict}`)).toEqual(['kappa Pass', 'errors Pass', 'undone InsufficientData']);
    const worse = { shadow: shadow({ acts: { both: 0, onlyFirst: 60, onlySecond: 240, neither: 0 } }) };
    const later = look(tried, 70, { ...worse, tasks: { passed: 9, total: 9 }, rollbacks: { verified: 20, total: 20 } });
    expect(later).toMatchObject({ stable: b, reason: 'Promoted' });
  });

  it.each([
    ['refuses all', { shadow: shadow({ acts: { both: 10, onlyFirst: 0, onlySecond: 290, neither: 0 } }) }, 'kappa'],
    ['fails requests', { shadow: shadow(), requests: { failed: 300, total: 1000 } }, 'errors'],
  ] as const)('goes back without one task when it %s', (_, canary, gate) => {
    const back = look(dark, 30, canary);
    expect(back).toMatchObject({ phase: 'Idle', stable: a, weight: 0, failures: { [b]: 1 } });
    expect(back.gates?.find(({ name }) => name === gate)?.verdict).toBe('Fail');
  });

  it('compares probabilities of copies in shadow, and those of tasks as soon as there are enough', () => {
    const drift = { name: 'drift', metric: 'ScoreDrift', atMost: '0.2', minSamples: 100 };
    const drifting = { ...spec, gates: [...(spec.gates ?? []), drift] } as RolloutPolicySpec;
    const [low, high] = [noShadow.scores.stable.with(0, 150), noShadow.scores.stable.with(9, 150)];
    const see = (status: RolloutReport, second: number, canary: Partial<ArmEvidence>, stable: Partial<ArmEvidence> = {}) =>
      look(status, second, canary, b, { spec: drifting, stable });
    const verdictOf = (status: RolloutReport) => status.gates?.find(({ name }) => name === 'drift')?.verdict;
    const held = see(dark, 61, { shadow: shadow() });
    expect(held).toMatchObject({ phase: 'Shadowing', reason: 'InsufficientData' });
    expect(held.message).toContain('gate drift');
    expect(see(dark, 61, { shadow: shadow({ scores: { stable: low, shadow: high } }) })).toMatchObject({
      phase: 'Idle',
      stable: a,
      weight: 0,
    });
    const same = { shadow: shadow({ scores: { stable: low, shadow: low } }) };
    const tried = see(dark, 61, same);
    expect([tried.phase, verdictOf(tried)]).toEqual(['Canary', 'Pass']);
    expect(verdictOf(see(tried, 62, { ...same, scores: high }))).toBe('Pass');
    const back = see(tried, 62, { ...same, scores: high }, { scores: low });
    expect([back.phase, back.stable, verdictOf(back)]).toEqual(['Idle', a, 'Fail']);
  });

  it('assigns tasks to the stable revision and marks their requests as copied; later attempts go on so', () => {
    const arms = armsOf('uid', undefined, dark);
    expect(arms).toEqual({ revision: a, shadow: dark.id });
    expect(armsOf('uid', arms, dark)).toEqual(arms);
    expect(armsOf('uid', arms, serving)).toEqual(arms);
    expect(armsOf('uid', arms, { ...serving, stable: b })).toEqual({ revision: b });
    expect(armsOf('uid', undefined, undefined, dark)).toEqual({ verifierRevision: a, shadow: dark.id });
    expect(armsOf('uid', undefined, dark, { ...dark, phase: 'Canary' })).toEqual({ revision: a, verifierRevision: a });
    expect(armsOf('uid', undefined, serving)).toEqual({ revision: a });
  });
});
