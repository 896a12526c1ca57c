// Decision models whose questions are copied to a shadow over real HTTP: whatever the shadow does, their answers are
// the same.
import * as fc from 'fast-check';
import { afterEach, beforeEach, describe, expect, it } from 'vitest';
import { silentLog, systemClock } from '@agentfleet/kube';
import type { ShadowBrief } from '@agentfleet/protocol/pool';
import type { ActInQuestion, RankingContext, SecondOpinion } from '../attempt/ports.ts';
import { InferenceClient, PartsClient } from '../experts/index.ts';
import { Lane, Mirror } from '../shadow/index.ts';
import { PoolDecisionModels } from './decisionModels.ts';
import { candidate } from './testing/candidates.ts';
import { compute, startPartsServer, type PartsServer, type Script } from './testing/partsServer.ts';

let stable: PartsServer;
let shadow: PartsServer;
beforeEach(async () => {
  [stable, shadow] = await Promise.all([startPartsServer(), startPartsServer()]);
});
afterEach(async () => {
  await Promise.all([stable[Symbol.asyncDispose](), shadow[Symbol.asyncDispose]()]);
});

const act: ActInQuestion = {
  head: 'Shell',
  tool: 'Shell',
  subject: 'make install',
  operator: 'make',
  rails: { decision: 'Review', risk: 'Reversible', findings: ['unknown-program'] },
  features: { edits: 0 },
};
const context: RankingContext = {
  files: [{ path: 'f.py', content: 'old\n' }],
  failing: [{ id: 't', message: 'expected new' }],
  suspicion: () => 0.7,
  trialSeconds: null,
};

/** With time for a busy machine. */
const patient = (server: PartsServer): ReturnType<PartsServer['pool']> => {
  const { experts, verifier } = server.pool();
  return { experts, verifier: verifier === null ? null : { ...verifier, timeoutMillis: 30_000 } };
};

const briefOf = (more: Partial<ShadowBrief> = {}): ShadowBrief => {
  const { experts, verifier } = patient(shadow);
  return { rollout: 'bbbbbbbbbb-1', revision: 'bbbbbbbbbb', percent: 100, maxInFlight: 8, experts, verifier, ...more };
};

function mirrorOf(more: Partial<ShadowBrief> = {}): Mirror {
  const client = new InferenceClient({ clock: systemClock });
  return new Mirror({ shadow: () => briefOf(more), before: undefined, client, lane: new Lane(), clock: systemClock, log: silentLog });
}

function open(mirror?: Mirror): PoolDecisionModels {
  const parts = new PartsClient({ clock: systemClock, log: silentLog });
  const options = { pool: patient(stable), compute, parts, name: 'task.1.1', signal: new AbortController().signal };
  return new PoolDecisionModels({ ...options, ...(mirror !== undefined && { mirror }) });
}

/** Questions of a course: Embed, Score, Control, Judge, Score. */
const asked = 5;

interface Said {
  readonly order: readonly string[];
  readonly opinion: SecondOpinion;
  readonly degraded: readonly string[];
  readonly participants: number;
}

async function course(decisionModels: PoolDecisionModels): Promise<Said> {
  const { ranked } = await decisionModels.rank([candidate('a'), candidate('b', { rank: 2 })], context);
  const opinion = await decisionModels.secondOpinion(act);
  return {
    order: ranked.map((one) => one.candidate.operator),
    opinion,
    degraded: decisionModels.degraded,
    participants: decisionModels.participants.length,
  };
}

const settled = async (mirror: Mirror, count: number): Promise<void> => {
  await expect
    .poll(() => (mirror.counts?.answered ?? 0) + (mirror.counts?.failed ?? 0) + (mirror.counts?.dropped ?? 0), {
      timeout: 30_000,
      interval: 5,
    })
    .toBeGreaterThanOrEqual(count);
};

describe('a mind with a shadow', { timeout: 120_000 }, () => {
  it('compares the verdicts of each verifier alone on an act, by its own thresholds', async () => {
    const mirror = mirrorOf();
    shadow.script.pSuccess = () => 0.05;
    const { opinion } = await course(open(mirror));
    expect(opinion).toMatchObject({ allowed: true, pSuccess: 0.9 });
    await settled(mirror, asked);
    expect(mirror.counts).toMatchObject({ onlyShadowVetoed: 1, neitherVetoed: 0, bothVetoed: 0, failed: 0 });
    const strict = briefOf().verifier;
    const stricter = mirrorOf({ verifier: strict === null ? null : { ...strict, vetoBelowProbability: 0.95, warnBelowProbability: 0.97 } });
    shadow.script.pSuccess = () => 0.9;
    stable.script.pSuccess = () => 0.1;
    expect((await course(open(stricter))).opinion.allowed).toBe(false);
    await settled(stricter, asked);
    expect(stricter.counts).toMatchObject({ bothVetoed: 1, onlyShadowVetoed: 0 });
  });

  it('reports that the shadow abstains where its probabilities are from another calibration than its own', async () => {
    const own = briefOf().verifier;
    const mirror = mirrorOf({ verifier: own === null ? null : { ...own, calibration: { abstains: null, digest: 'sha256:b' } } });
    shadow.script.calibration = 'sha256:a';
    await course(open(mirror));
    await settled(mirror, asked);
    expect(mirror.counts).toMatchObject({ neitherVetoed: 0 });
  });

  it('does not wait for a shadow that hangs', async () => {
    for (const capability of ['Score', 'Judge', 'Embed', 'Control'] as const) shadow.script.failing[capability] = 'Silent';
    const own = briefOf().verifier;
    const mirror = mirrorOf({ verifier: own === null ? null : { ...own, timeoutMillis: 2 ** 30 } });
    const { opinion } = await course(open(mirror));
    expect(opinion.allowed).toBe(true);
    expect(mirror.counts?.answered ?? 0).toBe(0);
    mirror.close();
    await settled(mirror, asked);
    expect(mirror.counts).toMatchObject({ answered: 0, failed: 0 });
  });

  it('answers as without a shadow, whatever the shadow does', async () => {
    const failure = fc.constantFrom(undefined, 'Silent' as const, 'Refuses' as const, 'Nonsense' as const);
    const script = fc.record({
      p: fc.constantFrom(0, 0.1, 0.5, 0.99, null),
      energy: fc.constantFrom(-5, 0, 5),
      unsafe: fc.constantFrom(0, 1),
      risk: fc.constantFrom(0, 1),
      failing: fc.record({ Score: failure, Judge: failure, Embed: failure, Control: failure }),
      percent: fc.constantFrom(1, 50, 100),
      maxInFlight: fc.constantFrom(1, 8),
    });
    const alone = await course(open());
    await fc.assert(
      fc.asyncProperty(script, async ({ p, energy, unsafe, risk, failing, percent, maxInFlight }) => {
        const change: Partial<Script> = { pSuccess: () => p, energy: ({ id }) => (id.endsWith('a') ? energy : -energy), unsafe, risk };
        Object.assign(shadow.script, change, { failing });
        const mirror = mirrorOf({ percent, maxInFlight });
        expect(await course(open(mirror))).toEqual(alone);
        mirror.close();
      }),
      { numRuns: 25 },
    );
  });
});
