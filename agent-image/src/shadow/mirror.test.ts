import * as fc from 'fast-check';
import { describe, expect, it } from 'vitest';
import { silentLog } from '@agentfleet/kube';
import { settle, VirtualClock } from '@agentfleet/kube/testing';
import type { ShadowReport } from '@agentfleet/protocol/api';
import type { ScoreResponse } from '@agentfleet/protocol/inference';
import type { ShadowBrief, VerifierEndpoint } from '@agentfleet/protocol/pool';
import { compared, noCounts, plus, type Judged } from './counts.ts';
import { Lane, Mirror, type Answered, isSampled } from './mirror.ts';

const [rollout, revision] = ['bbbbbbbbbb-1', 'bbbbbbbbbb'];
const verifier: VerifierEndpoint = {
  name: 'judge',
  url: 'http://judge',
  batchMax: 4,
  timeoutMillis: 300,
  vetoBelowProbability: 0.2,
  warnBelowProbability: 0.4,
  whenUnavailable: 'FailClosed',
};
const brief: ShadowBrief = {
  rollout,
  revision,
  percent: 100,
  maxInFlight: 2,
  verifier,
  experts: [
    { name: 'other', role: 'Policy', engine: 'Builtin', domains: ['*'], url: 'http://other' },
    { name: 'tpc', role: 'Policy', engine: 'Builtin', domains: ['*'], url: 'http://tpc' },
  ],
};

const response = { scores: [] } as unknown as ScoreResponse;
const judged = (verdict: Judged['verdict'], pSuccess: number | null): Judged => ({ verdict, pSuccess });
const item = { id: 'act', head: 'Shell' as const, text: 't', operator: 'o', features: {} };
const asked = (requestId: string, more: Partial<Answered<'Score'>> = {}): Answered<'Score'> => ({
  part: { name: 'judge', role: 'Verifier' },
  capability: 'Score',
  request: { requestId, featureSet: 'features/v3', items: [item] },
  timeoutMillis: 200,
  compare: () => ({ acts: [{ stable: judged('Pass', 0.9), shadow: judged('Veto', 0.1) }] }),
  ...more,
});

type Said = { readonly value: ScoreResponse } | { readonly failure: Error; readonly why: string } | 'hangs';

interface Bench {
  shadow: ShadowBrief | undefined;
  readonly sent: { readonly url: string; readonly timeoutMillis: number }[];
}

function bench(said: (at: number) => Said = () => ({ value: response }), shadow: ShadowBrief | undefined = brief) {
  const clock = new VirtualClock();
  const lane = new Lane();
  const state: Bench = { shadow, sent: [] };
  const ask = async ({ to, timeoutMillis }: { to: { url: string }; timeoutMillis: number }, signal: AbortSignal): Promise<object> => {
    const answer = said(state.sent.push({ url: to.url, timeoutMillis }) - 1);
    if (answer !== 'hangs') return answer;
    return new Promise((resolve) =>
      signal.addEventListener('abort', () => resolve({ failure: new Error(), why: 'aborted' }), { once: true }),
    );
  };
  const client = { ask } as never;
  const mirror = new Mirror({ shadow: () => state.shadow, before: undefined, client, lane, clock, log: silentLog });
  const copy = (id: string, more: Partial<Answered<'Score'>> = {}): void => mirror.question().copy(asked(id, more));
  return { clock, lane, state, mirror, copy };
}

const sumOf = ({ answered, failed, dropped }: ShadowReport): number => answered + failed + dropped;

describe('copies of requests', () => {
  it('are sent after the real answer, compared, and counted', async () => {
    const { clock, state, mirror, copy } = bench();
    const question = mirror.question();
    await clock.advance(40);
    question.copy(asked('a'));
    expect(state.sent).toEqual([]);
    await clock.advance(1);
    expect(state.sent).toEqual([{ url: 'http://judge', timeoutMillis: 300 }]);
    expect(mirror.counts).toMatchObject({
      rollout,
      answered: 1,
      onlyShadowVetoed: 1,
    });
    copy('b');
    await clock.advance(1);
    expect(mirror.counts?.answered).toBe(2);
  });

  it('are sent at most as many at a time as the brief allows; others are dropped, also while real ones wait', async () => {
    const { clock, state, mirror, copy } = bench(() => 'hangs');
    for (const id of ['a', 'b', 'c', 'd']) copy(id);
    await clock.advance(1);
    expect(state.sent).toHaveLength(2);
    expect(mirror.counts).toMatchObject({ dropped: 2, answered: 0 });
    const busy = bench();
    const waiting = Array.from({ length: 4 }, () => busy.mirror.question());
    busy.copy('a');
    await busy.clock.advance(1);
    expect(busy.mirror.counts).toMatchObject({ answered: 0, dropped: 1 });
    for (const question of waiting) question.end();
    busy.copy('b');
    await busy.clock.advance(1);
    expect(busy.mirror.counts).toMatchObject({ answered: 1, dropped: 1 });
  });

  it('end with the task, and free their places; nothing is sent afterwards', async () => {
    const { clock, lane, state, mirror, copy } = bench(() => 'hangs');
    copy('a');
    await clock.advance(1);
    copy('b');
    mirror.close();
    await settle();
    expect(mirror.counts).toMatchObject({ answered: 0, dropped: 2 });
    copy('c');
    await clock.advance(1000);
    expect([state.sent.length, mirror.counts?.dropped]).toEqual([1, 2]);
    expect([1, 2].map(() => lane.enter(2))).toEqual([true, true]);
  });

  it('are sent once: a failed or incomparable one is counted and not retried', async () => {
    const { clock, state, mirror, copy } = bench(() => ({ failure: new Error(), why: 'it answered 503' }));
    copy('a');
    await clock.advance(60_000);
    expect([state.sent.length, mirror.counts?.failed]).toEqual([1, 1]);
    const odd = bench();
    odd.copy('a', {
      compare: () => {
        throw new Error('what is this');
      },
    });
    await odd.clock.advance(1);
    expect(odd.mirror.counts).toMatchObject({ failed: 1, answered: 0, onlyShadowVetoed: 0 });
  });

  it('go to the one of the same name, else of the same role, and never to a verifier that takes fewer items', async () => {
    const { clock, state, mirror } = bench();
    const judge = (name: string, role: 'Policy' | 'Planner'): void =>
      mirror.question().copy({ part: { name, role }, capability: 'Judge', request: { requestId: name, acts: [] }, timeoutMillis: 50 });
    judge('tpc', 'Policy');
    await clock.advance(1);
    judge('gone', 'Policy');
    await clock.advance(1);
    judge('hrm', 'Planner');
    await clock.advance(1);
    expect(state.sent.map(({ url, timeoutMillis }) => [url, timeoutMillis])).toEqual([
      ['http://tpc', 50],
      ['http://other', 50],
    ]);
    mirror
      .question()
      .copy(asked('many', { request: { requestId: 'many', featureSet: 'features/v3', items: Array.from({ length: 5 }, () => item) } }));
    await clock.advance(1);
    expect(state.sent).toHaveLength(2);
  });

  it('stop when the phase ends, and begin at nothing in another rollout', async () => {
    const { clock, state, mirror, copy } = bench();
    copy('a');
    await clock.advance(1);
    state.shadow = undefined;
    copy('b');
    await clock.advance(1);
    expect(mirror.counts?.answered).toBe(1);
    state.shadow = { ...brief, rollout: 'cccccccccc-1', revision: 'cccccccccc' };
    copy('c');
    await clock.advance(1);
    expect(mirror.counts).toMatchObject({ rollout: 'cccccccccc-1', answered: 1 });
  });

  it('whatever the shadow answers: each copy is counted once, and no place is lost', async () => {
    const said = fc.constantFrom<Said>({ value: response }, { failure: new Error(), why: 'no' }, 'hangs');
    await fc.assert(
      fc.asyncProperty(fc.array(said, { minLength: 1, maxLength: 30 }), fc.nat({ max: 3 }), async (answers, pause) => {
        const { clock, lane, mirror, copy } = bench((at) => answers[at % answers.length] ?? 'hangs');
        for (const [at] of answers.entries()) {
          copy(`r${at}`);
          await clock.advance(at % 4 < pause ? 1 : 0);
        }
        mirror.close();
        await clock.advance(1);
        expect(sumOf(mirror.counts ?? noCounts(rollout))).toBe(answers.length);
        expect([1, 2, 3].map(() => lane.enter(2))).toEqual([true, true, false]);
      }),
      { numRuns: 60 },
    );
  });
});

describe('which requests are copied', () => {
  const ids = Array.from({ length: 5000 }, (_, index) => `uid.1.1.m${index}`);

  it('is the same every time, as many as the percentage, and others in another rollout', () => {
    const some = ids.filter((id) => isSampled(rollout, id, 20));
    expect(Math.abs(some.length / ids.length - 0.2)).toBeLessThan(0.02);
    expect(some.every((id) => isSampled(rollout, id, 20))).toBe(true);
    expect(ids.filter((id) => isSampled(rollout, id, 100))).toHaveLength(ids.length);
    expect(some.filter((id) => isSampled('cccccccccc-1', id, 20)).length).toBeLessThan(0.4 * some.length);
  });
});

describe('counts', () => {
  it('put an act into one cell of the table, and into none when a verifier is silent', () => {
    const verdicts = ['Pass', 'Warn', 'Veto', 'Abstain'] as const;
    for (const stable of verdicts)
      for (const shadow of verdicts) {
        const one = compared(noCounts(rollout), { acts: [{ stable: judged(stable, 0.5), shadow: judged(shadow, 0.5) }] });
        const cells = one.bothVetoed + one.onlyStableVetoed + one.onlyShadowVetoed + one.neitherVetoed;
        const silent = stable === 'Abstain' || shadow === 'Abstain';
        expect(cells, `${stable} ${shadow}`).toBe(silent ? 0 : 1);
        if (silent) continue;
        expect([one.onlyStableVetoed, one.onlyShadowVetoed]).toEqual([
          Number(stable === 'Veto' && shadow !== 'Veto'),
          Number(shadow === 'Veto' && stable !== 'Veto'),
        ]);
      }
  });

  it('put an act into the bin of each probability, and into none when one is silent', () => {
    const acts = [
      { stable: judged('Veto', 0.009), shadow: judged('Pass', 1) },
      { stable: judged('Pass', 0.99), shadow: judged('Pass', 0.75) },
      { stable: judged('Abstain', 0.5), shadow: judged('Pass', 0.5) },
      { stable: judged('Pass', 0.5), shadow: judged('Pass', null) },
    ];
    const one = compared(noCounts(rollout), { acts });
    expect([one.stableBins, one.shadowBins]).toEqual([
      [1, 0, 0, 0, 0, 0, 0, 0, 0, 1],
      [0, 0, 0, 0, 0, 0, 1, 0, 0, 1],
    ]);
    const full = compared({ ...one, stableBins: Array.from({ length: 10 }, () => 2_147_483_647) }, { acts });
    expect(full.stableBins?.[0]).toBe(2_147_483_647);
    expect(compared(noCounts(rollout), { sameCandidate: true }).stableBins).toBeUndefined();
  });

  it('stay inside what the status holds', () => {
    const full = plus(noCounts(rollout), { dropped: 2_147_483_640 });
    expect(plus(full, { dropped: 100, failed: -3 })).toMatchObject({ dropped: 2_147_483_647, failed: 0 });
  });
});
