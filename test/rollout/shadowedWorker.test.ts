// A worker whose requests are copied to a shadow, with inference servers that are real processes.
import { spawn, type ChildProcess } from 'node:child_process';
import { execPath } from 'node:process';
import { createInterface } from 'node:readline';
import { brief, eventually, succeeded, WorkerBed } from '../../agent-image/src/testing/bed.ts';
import type { ShadowBrief, VerifierEndpoint } from '@agentfleet/protocol/pool';
import { afterAll, beforeAll, describe, expect, test } from 'vitest';
import { example } from '../../inference-image/src/engines/synth/propose.ts';

const main = new URL('../../inference-image/src/main.ts', import.meta.url).pathname;
const servers: ChildProcess[] = [];
const [rollout, revision] = ['bbbbbbbbbb-1', 'bbbbbbbbbb'];

async function serve(env: Readonly<Record<string, string>>): Promise<string> {
  const server = spawn(execPath, [main], {
    env: { AGENTFLEET_LISTEN: '127.0.0.1:0', AGENTFLEET_AUTHENTICATION: 'None', ...env },
    stdio: ['ignore', 'pipe', 'inherit'],
  });
  servers.push(server);
  for await (const line of createInterface({ input: server.stdout })) {
    const { msg, addresses } = JSON.parse(line) as { readonly msg: string; readonly addresses?: readonly string[] };
    if (msg === 'listening' && addresses?.[0] !== undefined) return addresses[0];
  }
  throw new Error('it ended before it was ready');
}

let [expertUrl, verifierUrl] = ['', ''];
beforeAll(async () => {
  [expertUrl, verifierUrl] = await Promise.all([
    serve({}),
    serve({ AGENTFLEET_ENGINE: 'Builtin', AGENTFLEET_ROLES: 'Verifier', AGENTFLEET_ARTIFACT: 'features-v3' }),
  ]);
}, 60_000);
afterAll(() => {
  for (const server of servers) server.kill('SIGKILL');
});

const nobody = 'http://127.0.0.1:1';

const verifierAt = (url: string, more: Partial<VerifierEndpoint> = {}): VerifierEndpoint => ({
  name: 'judge',
  url,
  batchMax: 16,
  timeoutMillis: 10_000,
  vetoBelowProbability: 0,
  warnBelowProbability: 0,
  whenUnavailable: 'Degrade',
  ...more,
});

const expertsAt = (url: string): typeof brief.experts => [{ name: 'gen', role: 'Generalist', engine: 'Synth', domains: ['*'], url }];

const shadowOf = (experts: string, verifier: VerifierEndpoint): ShadowBrief => ({
  rollout,
  revision,
  percent: 100,
  maxInFlight: 16,
  experts: expertsAt(experts),
  verifier,
});

const act = {
  head: 'Shell',
  tool: 'Shell',
  subject: 'make install',
  operator: 'make',
  rails: { decision: 'Review', risk: 'Reversible', findings: ['unknown-program'] },
  features: { edits: 0 },
} as const;

const acts = 6;

/** Inputs of an engine and reports of the worker; the same work with and without a shadow. */
async function worked(shadow: ShadowBrief | undefined) {
  await using bed = await WorkerBed.open();
  const own = { ...brief, experts: expertsAt(expertUrl), verifier: verifierAt(verifierUrl) };
  await bed.writeBrief(JSON.stringify({ ...own, ...(shadow === undefined ? {} : { shadow }) }));
  await bed.start();
  await bed.sandbox('fix-1');
  await bed.task('fix', shadow === undefined ? {} : { shadow: rollout });
  await eventually('the engine runs', () => bed.engine.calls.length === 1);
  const { context } = bed.engine.last!;
  const { decisionModels, experts, pool, signal } = context;
  const proposals = await experts.generate(pool.experts[0]!, example, signal);
  const opinions = [];
  for (let at = 0; at < acts; at += 1) opinions.push(await decisionModels.secondOpinion({ ...act, subject: `make install-${at}` }));
  const seen = {
    proposed: proposals.candidates.map(({ id }) => id),
    opinions,
    degraded: decisionModels.degraded,
    took: decisionModels.participants,
  };
  const settled = (): boolean => {
    context.report({ progress: { done: 1, total: 1 } }, { urgent: true });
    const { answered = 0, failed = 0, dropped = 0 } = bed.status('fix').run?.shadow ?? {};
    return shadow === undefined || answered + failed + dropped === acts + 1;
  };
  await eventually('copies have come to their end', settled);
  bed.engine.last?.finish(succeeded);
  await eventually('it has ended', () => bed.status('fix').run?.outcome !== undefined);
  const { outcome, shadow: counts } = bed.status('fix').run ?? {};
  return { reported: seen, outcome, counts };
}

describe('a worker with a shadow', { timeout: 120_000 }, () => {
  test('works as without one, whatever the shadow answers, and reports its answers', async () => {
    const plain = await worked(undefined);
    expect(plain.counts).toBeUndefined();
    expect(plain.reported.proposed.length).toBeGreaterThan(0);
    expect(plain.reported.opinions.every(({ energy }) => energy !== null)).toBe(true);

    const same = await worked(shadowOf(expertUrl, verifierAt(verifierUrl)));
    expect([same.reported, same.outcome]).toEqual([plain.reported, plain.outcome]);
    expect(same.counts).toMatchObject({ rollout, answered: acts + 1, failed: 0, dropped: 0 });
    expect(same.counts).toMatchObject({ candidates: 1, sameCandidates: 1, neitherVetoed: acts });
    expect(same.counts?.stableBins?.reduce((sum, count) => sum + count, 0)).toBe(acts);
    expect(same.counts?.shadowBins).toEqual(same.counts?.stableBins);

    const strict = await worked(shadowOf(expertUrl, verifierAt(verifierUrl, { vetoBelowProbability: 1, warnBelowProbability: 1 })));
    expect([strict.reported, strict.outcome]).toEqual([plain.reported, plain.outcome]);
    expect(strict.counts).toMatchObject({ onlyShadowVetoed: acts, neitherVetoed: 0, bothVetoed: 0 });

    const gone = await worked(shadowOf(nobody, verifierAt(nobody)));
    expect([gone.reported, gone.outcome]).toEqual([plain.reported, plain.outcome]);
    expect(gone.counts).toMatchObject({ answered: 0, failed: acts + 1 });
  });
});
