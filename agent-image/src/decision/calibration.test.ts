import { describe, expect, it } from 'vitest';
import { silentLog, systemClock } from '@agentfleet/kube';
import { PartsClient } from '../experts/index.ts';
import { PoolDecisionModels } from './decisionModels.ts';
import { abstention } from './opinion.ts';
import { compute, startPartsServer, type PartsServer } from './testing/partsServer.ts';
import type { CalibrationBrief } from '@agentfleet/protocol/pool';

const until = '2030-01-01T00:00:00.000Z';
const at = Date.parse(until);
const digest = `sha256:${'cd'.repeat(32)}`;

describe('a verifier', () => {
  it.each<[string, CalibrationBrief | undefined, string | null | undefined, number | null, RegExp | null]>([
    ['without the demand', undefined, null, at, null],
    ['in force', { abstains: null, until, digest }, digest, at - 1, null],
    ['in force, not asked yet', { abstains: null, digest }, undefined, null, null],
    ['whose gates failed', { abstains: 'GateFailed' }, digest, 0, /GateFailed/],
    ['that is stale', { abstains: null, until, digest }, digest, at, /stale since 2030/],
    ['whose time limit is unreadable', { abstains: null, until: 'x' }, digest, at, /stale/],
    ['of another calibration', { abstains: null, digest }, `sha256:${'ef'.repeat(32)}`, 0, /another calibration/],
    ['that tells none', { abstains: null, digest }, null, 0, /another calibration/],
  ])('%s', (_, brief, reported, now, why) => {
    if (why === null) expect(abstention(brief, reported, now)).toBeNull();
    else expect(abstention(brief, reported, now)).toMatch(why);
  });
});

const act = {
  head: 'Shell',
  tool: 'Shell',
  subject: 'make install',
  operator: 'act',
  rails: { decision: 'Review', risk: 'Reversible', findings: [] },
  features: {},
} as const;

function mindWith(server: PartsServer, change: object, now: number): PoolDecisionModels {
  const { verifier, ...pool } = server.pool();
  if (verifier === null) throw new Error('the server has a verifier');
  const parts = new PartsClient({ clock: systemClock, log: silentLog });
  const { signal } = new AbortController();
  return new PoolDecisionModels({
    pool: { ...pool, verifier: { ...verifier, ...change } },
    compute,
    parts,
    name: 'c.1.1',
    signal,
    now: () => now,
  });
}

describe('gate 2 with a calibration', () => {
  it('measures each head by its own thresholds', async () => {
    await using server = await startPartsServer();
    server.script.pSuccess = () => 0.4;
    server.script.calibration = digest;
    const calibration = { abstains: null, digest, until };
    const heads = [{ head: 'Shell', vetoBelowProbability: 0.5, warnBelowProbability: 0.6 }];
    const decisionModels = mindWith(server, { heads, calibration }, at - 1);
    expect((await decisionModels.secondOpinion(act)).why).toMatch(/pSuccess 0\.400 is below 0\.5/);
    expect(await decisionModels.secondOpinion({ ...act, head: 'Editor' })).toMatchObject({ allowed: true });
  });

  it('is closed by a stale one, and uses the rest where the model has Degrade', async () => {
    await using server = await startPartsServer();
    server.script.calibration = digest;
    const calibration = { abstains: null, digest, until };
    const closed = mindWith(server, { calibration }, at);
    expect((await closed.secondOpinion(act)).why).toMatch(/^Verifier gave no answer \(calibration stale since/);
    expect(closed.degraded.join()).toContain('it ranks and vetoes nothing');
    const open = mindWith(server, { calibration, whenUnavailable: 'Degrade' }, at);
    expect(await open.secondOpinion(act)).toMatchObject({ allowed: true, pSuccess: null });
  });

  it('does not let a head speak that was not calibrated', async () => {
    await using server = await startPartsServer();
    server.script.calibration = digest;
    server.script.pSuccess = () => null;
    const decisionModels = mindWith(server, { calibration: { abstains: null, digest } }, 0);
    expect((await decisionModels.secondOpinion(act)).why).toMatch(/head Shell is not calibrated/);
  });
});
