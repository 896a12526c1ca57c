import { afterEach, describe, expect, it } from 'vitest';
import { openGate } from '@agentfleet/protocol/tokens';
import type { FastifyInstance } from 'fastify';
import { featureSet, type ScoreResponse } from '@agentfleet/protocol/inference';
import type { Abilities, ServedEngine } from '../base/served.ts';
import { createServer, type Server } from '../capabilities/server.ts';
import { createLog } from '@agentfleet/protocol/log';
import { createApp } from './app.ts';

/** Starts a server whose engine gives the test's answers. */
function serve(
  abilities: Abilities,
  roles: ServedEngine['roles'] = ['Verifier'],
): { server: Server; app: FastifyInstance; batches: number[] } {
  const batches: number[] = [];
  const { Score } = abilities;
  const counted: Abilities =
    Score === undefined ? abilities : { ...abilities, Score: (batch, signal) => (batches.push(batch.length), Score(batch, signal)) };
  const engine: ServedEngine = {
    name: 'Builtin',
    roles,
    modelDigest: `sha256:${'a'.repeat(64)}`,
    learned: true,
    languages: [],
    shadow: 'it is no better than a constant',
    about: { riskAuc: 0.5 },
    abilities: counted,
    close: () => Promise.resolve(),
  };
  const config = { version: '1.2.3', roles, queueLimit: 8, batchLimit: 4 };
  // The pause ends with the turn of the event loop: callers of one turn are joined, nothing waits for a clock.
  const pause = (): Promise<void> => new Promise((resolve) => setImmediate(resolve));
  const server = createServer({
    config,
    engine,
    logger: createLog(
      'silent',
      () => undefined,
      () => 0,
    ),
    now: () => 0,
    pause,
  });
  return { server, app: createApp(server, openGate), batches };
}

const item = { id: 'a', head: 'Code', text: 'x', operator: 'y', features: { edits: 3 } } as const;
const body = { requestId: 'r', featureSet, items: [item] };
const byEdits: Abilities['Score'] = (batch) =>
  Promise.resolve(
    batch.map(({ items }) => ({
      answer: {
        scores: items.map(({ id, features }) => ({
          id,
          energy: features.edits ?? 0,
          model: features.edits ?? 0,
          features: 0,
          pSuccess: null,
        })),
        reads: ['edits'],
      },
    })),
  );

let open: FastifyInstance | null = null;
afterEach(() => open?.close());

function post(app: FastifyInstance, url: string, payload: unknown) {
  open = app;
  return app.inject({ method: 'POST', url, payload: payload as object });
}

describe('a server of one role', () => {
  it('describes itself completely', async () => {
    const { app, server } = serve({ Score: byEdits });
    expect((await app.inject('/v1/info')).json()).toEqual({
      version: '1.2.3',
      engine: 'Builtin',
      roles: ['Verifier'],
      capabilities: ['Score'],
      modelDigest: server.info.modelDigest,
      learned: true,
      languages: [],
      shadow: 'it is no better than a constant',
      about: { riskAuc: 0.5 },
    });
  });

  it('joins requests of several callers, and answers each as if it were alone', async () => {
    const { app, batches } = serve({ Score: byEdits });
    const bodies = [1, 2, 3, 4, 5].map((edits) => ({ ...body, requestId: `r${edits}`, items: [{ ...item, features: { edits } }] }));
    const together = await Promise.all(bodies.map(async (one) => (await post(app, '/v1/score', one)).json<ScoreResponse>()));
    expect(Math.max(...batches)).toBeGreaterThan(1);
    expect(Math.max(...batches)).toBeLessThanOrEqual(4);
    for (const [at, one] of bodies.entries()) {
      expect(together[at]).toMatchObject({ requestId: one.requestId, scores: [{ id: 'a', energy: at + 1 }] });
      expect((await post(app, '/v1/score', one)).json()).toEqual(together[at]);
    }
  });

  it.each([
    ['a feature that nobody knows', { ...body, items: [{ ...item, features: { beauty: 1 } }] }, 'items.0.features.beauty'],
    ['a number as text', { ...body, items: [{ ...item, features: { edits: '3' } }] }, 'items.0.features.edits'],
    ['another set of features', { ...body, featureSet: 'features/v1' }, 'featureSet'],
    ['no item', { ...body, items: [] }, 'items'],
    ['an id twice', { ...body, items: [item, item] }, 'items.1.id'],
  ])('refuses %s', async (_name, wrong, field) => {
    const response = await post(serve({ Score: byEdits }).app, '/v1/score', wrong);
    expect(response.statusCode).toBe(400);
    expect(response.json()).toMatchObject({ error: { code: 'AF_INVALID', field } });
  });

  const scored = { id: 'a', energy: 1, model: 1, features: 0, pSuccess: null };
  it.each([
    ['a number that is none', [{ ...scored, energy: NaN }]],
    ['a probability above 1', [{ ...scored, pSuccess: 1.5 }]],
    ['an item that nobody asked for', [{ ...scored, id: 'b' }]],
    ['an item too few', []],
    ['a member too many', [{ ...scored, secret: 1 }]],
  ])('never sends %s', async (_name, scores) => {
    const { app } = serve({ Score: () => Promise.resolve([{ answer: { scores, reads: [] } }]) });
    const response = await post(app, '/v1/score', body);
    expect(response.statusCode).toBe(500);
    expect(response.json()).toMatchObject({ error: { code: 'AF_INTERNAL' } });
    expect(response.body).not.toContain('scores');
  });

  it('is ready only when its answers to the example are plausible', async () => {
    const wrong = serve({ Score: byEdits }).server;
    expect(await wrong.readiness.check()).toContain('an edit that mends tests has no lower energy');
    const broken: Abilities['Score'] = (batch) =>
      Promise.resolve(
        batch.map(({ items }) => ({
          answer: { scores: items.map(({ id, features }) => ({ ...scored, id, energy: features.testsBroken ?? 0 })), reads: [] },
        })),
      );
    expect(await serve({ Score: broken }).server.readiness.check()).toBeNull();
  });

  it('counts by capability and code, also missing ones', async () => {
    const { app } = serve({ Score: byEdits });
    await post(app, '/v1/score', body);
    await post(app, '/v1/embed', {});
    const metrics = (await app.inject('/metrics')).body;
    expect(metrics).toContain('agentfleet_inference_requests_total{capability="Score",code="ok"} 1');
    expect(metrics).toContain('agentfleet_inference_requests_total{capability="Embed",code="AF_CAPABILITY_UNSUPPORTED"} 1');
    expect(metrics).toContain('agentfleet_inference_batch_items_sum{capability="Score"} 1');
    expect(metrics).toContain('agentfleet_inference_request_seconds_count{capability="Score"} 1');
  });
});

describe('the planner', () => {
  const control =
    (experts: readonly string[], p: number): NonNullable<Abilities['Control']> =>
    () => {
      return Promise.resolve([{ answer: { tick: 0, experts: experts.map((name) => ({ name, p })), risk: 0.5, deliberate: false } }]);
    };
  const ask = { requestId: 'r', experts: ['synth', 'llama'], steps: [] };

  it('reports its shadow with each vector', async () => {
    const response = await post(serve({ Control: control(ask.experts, 0.5) }, ['Planner']).app, '/v1/control', ask);
    expect(response.json()).toMatchObject({ requestId: 'r', shadow: 'it is no better than a constant', risk: 0.5 });
  });

  it('is not sent with shares that are none, or of others', async () => {
    for (const wrong of [control(ask.experts, 0.9), control(['llama', 'synth'], 0.5)])
      expect((await post(serve({ Control: wrong }, ['Planner']).app, '/v1/control', ask)).statusCode).toBe(500);
  });

  it('refuses steps of experts that are not named', async () => {
    const step = {
      tool: 'Editor',
      result: 'Equal',
      expert: 2,
      edits: 1,
      testsFailing: 1,
      testsTotal: 2,
      testsFixed: 0,
      depth: 0,
      seconds: 1,
      budgetUsed: 0,
    };
    const response = await post(serve({ Control: control(ask.experts, 0.5) }, ['Planner']).app, '/v1/control', { ...ask, steps: [step] });
    expect(response.json()).toMatchObject({ error: { code: 'AF_INVALID', field: 'steps.0.expert' } });
  });
});
