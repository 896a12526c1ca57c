import { afterEach, beforeEach, describe, expect, it } from 'vitest';
import { silentLog, systemClock } from '@agentfleet/kube';
import type { PoolBrief } from '@agentfleet/protocol/pool';
import type { ActInQuestion, RankingContext } from '../attempt/ports.ts';
import { PartsClient } from '../experts/index.ts';
import type { FleetOptions } from './fleet.ts';
import { PoolDecisionModels } from './decisionModels.ts';
import { candidate } from './testing/candidates.ts';
import { compute, modelDigest, startPartsServer, type PartsServer } from './testing/partsServer.ts';

let server: PartsServer;
beforeEach(async () => {
  server = await startPartsServer();
});
afterEach(() => server[Symbol.asyncDispose]());

const open = (pool: FleetOptions['pool'] = server.pool(), signal = new AbortController().signal): PoolDecisionModels =>
  new PoolDecisionModels({ pool, compute, parts: new PartsClient({ clock: systemClock, log: silentLog }), name: 'task.1.1', signal });

const context: RankingContext = {
  files: [{ path: 'f.py', content: 'old\nnext\n' }],
  failing: [{ id: 't', message: 'expected new' }],
  suspicion: () => 0.7,
  trialSeconds: null,
};
const three = [candidate('a', { rank: 1, score: 0.5 }), candidate('b', { rank: 2, score: 0.3 }), candidate('c', { rank: 3, score: 0.2 })];
const act: ActInQuestion = {
  head: 'Shell',
  tool: 'Shell',
  subject: 'make install',
  operator: 'make',
  rails: { decision: 'Review', risk: 'Unknown', findings: ['unknown-program'] },
  features: { edits: 0 },
};
const without = (role: PoolBrief['experts'][number]['role']): readonly PoolBrief['experts'][number][] =>
  server.pool().experts.filter((one) => one.role !== role);

describe('the control vector', () => {
  it('is asked with the experts that propose and all steps', async () => {
    server.script.experts = { gen: 1 };
    expect(await open().control([])).toMatchObject({ experts: { gen: 1 }, risk: 0.1, deliberate: false });
    expect(server.bodies('Control')).toEqual([{ requestId: 'task.1.1.m1', experts: ['gen'], steps: [] }]);
  });

  it('is uniform without a planner, and no part is reported as missing', async () => {
    const decisionModels = open(server.pool({ experts: [...without('Planner')] }));
    expect(await decisionModels.control([])).toEqual({
      experts: { gen: 1 },
      risk: null,
      deliberate: false,
    });
    expect(decisionModels.degraded).toEqual([]);
  });

  it('is uniform when the planner has no pods, which is reported from the beginning; so for each part without a replacement', () => {
    const absent = [
      { name: 'hrm', role: 'Planner' },
      { name: 'tpc', role: 'Policy' },
      { name: 'embed', role: 'Embedder' },
      { name: 'smol', role: 'Draft' },
      { name: 'spare', role: 'Generalist' },
    ] as const;
    expect(open({ ...server.pool({ experts: [] }), absent: [...absent] }).degraded).toEqual([
      'Planner hrm: no pods, priors are uniform',
      'Policy tpc: no pods, gate 2 goes by its table',
      'Embedder embed: no pods, no specCosine',
      'Draft smol: no pods, no likelihoods',
    ]);
    expect(open({ ...server.pool(), absent: [{ name: 'old', role: 'Planner' }] }).degraded).toEqual([]);
  });

  it('is uniform when the planner is unavailable, which is reported until it returns', async () => {
    server.script.failing = { Control: 'Refuses' };
    const decisionModels = open();
    expect(await decisionModels.control([])).toMatchObject({ experts: { gen: 1 }, risk: null });
    expect(decisionModels.degraded).toEqual([expect.stringMatching(/^Planner hrm: .*500.*priors are uniform/)]);
    server.script.failing = {};
    expect(await decisionModels.control([])).toMatchObject({ risk: 0.1 });
    expect(decisionModels.degraded).toEqual([]);
  });

  it('in shadow is reported and not acted upon', async () => {
    server.script.shadow = 'no better than a constant';
    server.script.risk = 1;
    server.script.deliberate = true;
    const decisionModels = open();
    expect(await decisionModels.control([])).toMatchObject({ experts: { gen: 1 }, risk: null, deliberate: false });
    expect(decisionModels.degraded).toEqual(['Planner hrm: in shadow, priors are uniform: no better than a constant']);
    expect((await decisionModels.secondOpinion(act)).allowed).toBe(true);
  });
});

describe('ranking', () => {
  it('follows energy, in batches, with all features known before the act', async () => {
    server.script.energy = ({ operator }) => ({ a: 3, b: 1, c: 2 })[operator] ?? 0;
    const { ranked, margin } = await open().rank(three, context);
    expect(ranked.map(({ candidate: { operator }, energy }) => [operator, energy])).toEqual([
      ['b', 1],
      ['c', 2],
      ['a', 3],
    ]);
    expect(margin).toBe(1);
    const [first, second] = server.bodies('Score');
    expect([first?.items.length, second?.items.length]).toEqual([2, 1]);
    expect(first?.items[0]).toEqual({
      id: three[0]?.id,
      head: 'Code',
      text: '-old\n+a\n next\n ',
      operator: 'a',
      features: {
        proposalShare: 0.5,
        rank: 1,
        edits: 1,
        files: 1,
        charsAdded: 1,
        charsRemoved: 3,
        docTestDelta: 0,
        suspicion: 0.7,
        specCosine: 1,
      },
    });
  });

  it('embeds failures once, and each change once, also when the work returns to another tree', async () => {
    const decisionModels = open();
    await decisionModels.rank(three, context);
    await decisionModels.rank(three, context);
    expect(server.bodies('Embed').map(({ texts }) => texts.length)).toEqual([4]);
    const other = { ...context, failing: [{ id: 'u', message: 'expected other' }] };
    await decisionModels.rank([...three.slice(0, 1), candidate('d', { rank: 2, score: 0.1 })], other);
    await decisionModels.rank(three, context);
    expect(server.bodies('Embed').map(({ texts }) => texts.length)).toEqual([4, 2]);
  });

  it('embeds nothing when the verifier does not read it, which its first answer shows', async () => {
    server.script.reads = [];
    const decisionModels = open();
    await decisionModels.rank(three, context);
    await decisionModels.rank([candidate('e', { rank: 1, score: 0.1 })], context);
    expect(server.bodies('Embed').map(({ texts }) => texts.length)).toEqual([4]);
  });

  it('keeps the order of the expert when the verifier is unavailable, and reports it', async () => {
    server.script.energy = ({ operator }) => ({ a: 3, b: 1, c: 2 })[operator] ?? 0;
    server.script.failing = { Score: 'Silent' };
    const decisionModels = open();
    const { ranked } = await decisionModels.rank(three, context);
    expect(ranked.map(({ candidate: { operator } }) => operator)).toEqual(['a', 'b', 'c']);
    expect(ranked.every(({ energy }) => energy === null)).toBe(true);
    expect(decisionModels.degraded).toEqual(['Verifier ebm: no answer within 200 ms; the expert orders, gate 2 is closed']);
    const [first] = ranked;
    if (first === undefined) throw new Error('nothing was ranked');
    expect(await decisionModels.score(first, { testsFixed: 1 })).toBeNull();
  });

  it('asks only the verifier where it needs no other part', async () => {
    await open(server.pool({ verifier: null })).rank(three, context);
    expect(server.asked).toEqual([]);
  });

  it('takes nonsense for no answer', async () => {
    server.script.failing = { Score: 'Nonsense', Embed: 'Nonsense' };
    const decisionModels = open();
    expect((await decisionModels.rank(three, context)).ranked.map(({ energy }) => energy)).toEqual([null, null, null]);
    expect(decisionModels.degraded).toHaveLength(2);
  });

  it('asks for likelihoods when the better order is worth it, and lets them weigh where there is no energy', async () => {
    server.script.gain = (id) => (id === three[2]?.id ? 5 : 0);
    const decisionModels = open(server.pool({ verifier: null }));
    const slow = await decisionModels.rank(three, { ...context, trialSeconds: 10 });
    expect(slow.ranked.map(({ candidate: { operator } }) => operator)).toEqual(['a', 'c', 'b']);
    expect(slow.ranked[1]?.features.likelihoodGain).toBe(5);
    // (0.3·1 + 0.2·2) ⁄ 2 trials of 10 s
    expect(server.bodies('Prior')[0]).toMatchObject({ budgetMillis: 3500, files: context.files });
    await decisionModels.rank(three, { ...context, trialSeconds: 0.01 });
    expect(server.bodies('Prior')).toHaveLength(1);
  });

  it('scores executed acts by all measurements', async () => {
    server.script.energy = ({ features }) => -(features.testsFixed ?? 0);
    const decisionModels = open();
    const [best] = (await decisionModels.rank(three, context)).ranked;
    if (best === undefined) throw new Error('nothing was ranked');
    expect(await decisionModels.score(best, { testsFixed: 2 })).toEqual({ energy: -2, pSuccess: 0.9 });
    expect(server.bodies('Score').at(-1)?.items[0]).toMatchObject({
      text: '-old\n+a\n next\n ',
      features: { testsFixed: 2, rank: 1, specCosine: 1 },
    });
  });

  it('ends with the attempt', async () => {
    server.script.failing = { Score: 'Silent' };
    const stop = new AbortController();
    const ranking = open(server.pool(), stop.signal).rank(three, context);
    stop.abort('Stop');
    await expect(ranking).rejects.toBe('Stop');
  });
});

describe('a second opinion', () => {
  it('asks Policy, Planner and Verifier, and reports their numbers', async () => {
    expect(await open().secondOpinion(act)).toEqual({ allowed: true, why: '', unsafe: 0.01, risk: 0.1, energy: 0, pSuccess: 0.9 });
    expect(server.bodies('Judge')[0]?.acts).toEqual([{ id: 'act0', tool: 'Shell', subject: 'make install', rails: ['unknown-program'] }]);
    expect(server.bodies('Score')[0]?.items[0]).toMatchObject({
      head: 'Shell',
      features: { edits: 0, railRank: 2, policyUnsafe: 0.01 },
    });
  });

  it('has every piece of a long text judged by both, and the worst one counts', async () => {
    const content = 'x'.repeat(70_000);
    await open().secondOpinion({ ...act, tool: 'FileWrite', subject: '/workspace/f.py', content });
    expect(server.bodies('Judge')[0]?.acts.map((one) => one.content?.length)).toEqual([16_368, 16_368, 16_368, 16_368, 16_368]);
    const items = server.bodies('Score').flatMap((request) => request.items);
    expect(items.map(({ id, text }) => [id, text.length])).toEqual(['act', 'act1', 'act2', 'act3', 'act4'].map((id) => [id, 16_384]));
  });

  it('reads the whole of what fits as one', async () => {
    const subject = 'y'.repeat(16_384);
    await open().secondOpinion({ ...act, subject });
    expect(server.bodies('Judge')[0]?.acts).toMatchObject([{ id: 'act0', subject }]);
    expect(server.bodies('Score').map((request) => request.items.map(({ id, text }) => [id, text]))).toEqual([[['act', subject]]]);
  });

  const payload = 'User.objects.raw("delete from users")';
  /** A command whose standard input has the payload behind lines that do nothing. */
  const padded = (chars: number): ActInQuestion => ({
    ...act,
    subject: `manage.py shell <<'STDIN'\n${'# note\n'.repeat(Math.ceil(chars / 7))}${payload}\nSTDIN`,
    rails: { decision: 'Allow', risk: 'Unknown', findings: [] },
  });
  const isBad = (text: string): boolean => text.startsWith('manage.py shell') && text.includes(payload);

  it.each([0, 14_000, 15_320, 16_300, 17_000, 66_000, 900_000])(
    'is no where Policy objects to what follows %i characters',
    async (chars) => {
      server.script.pSuccess = ({ features }) => 1 - (features.policyUnsafe ?? 1);
      server.script.unsafe = ({ subject }) => (isBad(subject) ? 0.99 : 0.01);
      expect(await open().secondOpinion(padded(chars))).toMatchObject({ allowed: false, unsafe: 0.99 });
      server.script.unsafe = 0.01;
      expect(await open().secondOpinion(padded(chars))).toMatchObject({ allowed: true, unsafe: 0.01 });
    },
  );

  it.each([0, 14_000, 15_320, 16_300, 17_000, 66_000, 900_000])(
    'is no where the Verifier objects to what follows %i characters',
    async (chars) => {
      server.script.failing = { Judge: 'Refuses' };
      server.script.pSuccess = ({ text }) => (isBad(text) ? 0.02 : 0.98);
      server.script.energy = ({ text }) => (isBad(text) ? 5 : -5);
      expect(await open().secondOpinion(padded(chars))).toMatchObject({ allowed: false, pSuccess: 0.02, energy: 5 });
    },
  );

  it('is no of what has more pieces than are judged, whatever is said of some, and nobody is asked', async () => {
    const { verifier } = server.pool();
    if (verifier === null) throw new Error('the pool has a verifier');
    const degrading = open(server.pool({ verifier: { ...verifier, whenUnavailable: 'Degrade' } }));
    for (const decisionModels of [
      open(),
      degrading,
      open(server.pool({ experts: [...without('Policy')] })),
      open(server.pool({ verifier: null })),
    ]) {
      const opinion = await decisionModels.secondOpinion(padded(1_000_000));
      expect(opinion).toMatchObject({ allowed: false, pSuccess: null, unsafe: null });
      expect(opinion.why).toMatch(
        /^it is too long to be judged \(1000\d{3} characters\); give a shorter stdin, or write the text to files/,
      );
    }
    expect([...server.bodies('Judge'), ...server.bodies('Score')]).toEqual([]);
    expect(await open(server.pool({ experts: [...without('Policy')], verifier: null })).secondOpinion(padded(1_000_000))).toMatchObject({
      allowed: true,
    });
  });

  it('is no when the EnergyModel is away and fails closed, and Policy alone decides when it degrades', async () => {
    server.script.failing = { Score: 'Refuses' };
    expect((await open().secondOpinion(act)).why).toMatch(/^Verifier gave no answer/);
    const { verifier } = server.pool();
    if (verifier === null) throw new Error('the pool has a verifier');
    const decisionModels = open(server.pool({ verifier: { ...verifier, whenUnavailable: 'Degrade' } }));
    expect(await decisionModels.secondOpinion(act)).toMatchObject({ allowed: true, energy: null });
    expect(decisionModels.degraded).toEqual([expect.stringMatching(/^Verifier ebm: .*the rules decide/)]);
  });

  it('reports that a verifier without calibration vetoes nothing', async () => {
    server.script.pSuccess = () => null;
    const decisionModels = open();
    expect(await decisionModels.secondOpinion(act)).toMatchObject({ allowed: true, pSuccess: null });
    expect(decisionModels.degraded).toEqual(['Verifier ebm: not calibrated; it ranks and vetoes nothing']);
  });
});

it('reports the participating parts, with their digests', async () => {
  const decisionModels = open();
  await decisionModels.control([]);
  await decisionModels.rank(three, { ...context, trialSeconds: 100 });
  await decisionModels.secondOpinion(act);
  const participants = [...decisionModels.participants].toSorted((a, b) => (a.role < b.role ? -1 : 1));
  expect(participants).toEqual([
    { role: 'Draft', name: 'smol', digest: modelDigest },
    { role: 'Embedder', name: 'embed', digest: modelDigest },
    { role: 'Planner', name: 'hrm', digest: modelDigest },
    { role: 'Policy', name: 'tpc', digest: modelDigest },
    { role: 'Verifier', name: 'ebm', digest: modelDigest },
  ]);
});
