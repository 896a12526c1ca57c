import { afterAll, beforeAll, describe, expect, it } from 'vitest';
import { openGate } from '@agentfleet/protocol/tokens';
import type { FastifyInstance } from 'fastify';
import type { GenerateResponse, InferenceErrorBody } from '@agentfleet/protocol/inference';
import { createEngine } from '../engines/index.ts';
import { example } from '../engines/synth/propose.ts';
import { createServer, type Server } from '../capabilities/server.ts';
import { createLog } from '@agentfleet/protocol/log';
import { createApp } from './app.ts';

let server: Server;
let app: FastifyInstance;
let close: () => Promise<void>;
beforeAll(async () => {
  const now = () => 0;
  const engine = await createEngine({ engine: { type: 'Synth' }, grammars: null }, now, () => undefined);
  const logger = createLog('silent', () => undefined, now);
  server = createServer({
    config: { version: '1.2.3', roles: ['Generalist', 'Draft'], queueLimit: 8, batchLimit: 4 },
    engine,
    logger,
    now,
    pause: () => Promise.resolve(),
  });
  app = createApp(server, openGate);
  close = () => engine.close();
});
afterAll(async () => {
  await app.close();
  await close();
});

/** The smallest body: everything with a default left out. */
const { requestId, role, goal, files, localisation, k } = example;
const minimal = { requestId, role, goal, files, localisation, k };
const post = (payload: unknown) => app.inject({ method: 'POST', url: '/v1/generate', payload: payload as object });

describe('POST /v1/generate', () => {
  it('answers with candidates, the engine and its digest', async () => {
    const response = await post(minimal);
    expect(response.statusCode).toBe(200);
    const body = response.json<GenerateResponse>();
    expect(body).toMatchObject({ requestId: 'example', engine: 'Synth', modelDigest: server.info.modelDigest });
    const repair = body.candidates.find(({ operator, edits }) => operator === 'arithmetic' && edits[0]?.after === '+');
    expect(repair).toMatchObject({ edits: [{ path: 'add.py', before: '-' }], location: { path: 'add.py', line: 2 } });
  });

  it('proposes edits also where acts are allowed', async () => {
    const { candidates } = (await post({ ...minimal, grammar: 'Tool' })).json<GenerateResponse>();
    expect(candidates.length).toBeGreaterThan(0);
    expect(candidates.every(({ edits, acts }) => edits.length > 0 && acts === undefined)).toBe(true);
  });

  it('answers several callers at once, equally', async () => {
    const bodies = await Promise.all([1, 2, 3, 4, 5].map(async () => (await post(minimal)).json<GenerateResponse>()));
    for (const body of bodies) expect(body).toEqual(bodies[0]);
  });

  const spectrum = { passed: 0, failed: 1, lines: [{ path: 'add.py', line: 9, passed: 0, failed: 1 }] };
  const over = { passed: 0, failed: 1, lines: [{ path: 'add.py', line: 1, passed: 0, failed: 2 }] };
  it.each([
    ['an unknown field', { ...minimal, temperature: 1 }, 'AF_INVALID', 'temperature'],
    ['an unknown field inside', { ...minimal, files: [{ ...files[0], mode: 1 }] }, 'AF_INVALID', 'files.0.mode'],
    ['a missing field', { ...minimal, goal: undefined }, 'AF_INVALID', 'goal'],
    ['k out of bounds', { ...minimal, k: 65 }, 'AF_INVALID', 'k'],
    ['a number as text', { ...minimal, k: '5' }, 'AF_INVALID', 'k'],
    ['another grammar', { ...minimal, grammar: 'Shell' }, 'AF_INVALID', 'grammar'],
    ['a role of nobody', { ...minimal, role: 'King' }, 'AF_INVALID', 'role'],
    ['a path outside', { ...minimal, files: [{ path: '../a.py', content: '' }] }, 'AF_INVALID', 'files.0.path'],
    ['an absolute path', { ...minimal, files: [{ path: '/a.py', content: '' }] }, 'AF_INVALID', 'files.0.path'],
    ['a file twice', { ...minimal, files: [...files, ...files] }, 'AF_INVALID', 'files.1.path'],
    ['a wrong digest', { ...minimal, exclude: ['abc'] }, 'AF_INVALID', 'exclude.0'],
    [
      'counts of another text',
      { ...minimal, localisation: { ...localisation, spectrum } },
      'AF_SPECTRUM_MISMATCH',
      'localisation.spectrum.lines.0.line',
    ],
    [
      'counts above the total',
      { ...minimal, localisation: { ...localisation, spectrum: over } },
      'AF_SPECTRUM_MISMATCH',
      'localisation.spectrum.lines.0.failed',
    ],
    ['no Python', { ...minimal, files: [{ path: 'a.go', content: '' }] }, 'AF_LANGUAGE_UNSUPPORTED', 'files'],
  ])('refuses %s', async (_name, body, code, field) => {
    const response = await post(body);
    expect(response.statusCode).toBe(400);
    const { error } = response.json<InferenceErrorBody>();
    expect(error).toMatchObject({ code, field });
    expect(error.message).toContain(field);
    expect(error.cure).not.toBe('');
  });

  it('refuses invalid JSON, and unknown paths', async () => {
    const broken = await app.inject({ method: 'POST', url: '/v1/generate', payload: '{', headers: { 'content-type': 'application/json' } });
    expect(broken.json()).toMatchObject({ error: { code: 'AF_INVALID' } });
    expect((await app.inject('/v2')).json()).toMatchObject({ error: { code: 'AF_NOT_FOUND' } });
  });

  it.each(['prior', 'control', 'score', 'embed', 'judge'])('reports that it does not %s', async (route) => {
    const response = await app.inject({ method: 'POST', url: `/v1/${route}`, payload: {} });
    expect(response.statusCode).toBe(404);
    expect(response.json()).toMatchObject({ error: { code: 'AF_CAPABILITY_UNSUPPORTED', field: null } });
    expect(response.json<InferenceErrorBody>().error.message).toContain('Synth as Generalist, Draft answers Generate');
  });

  it('returns 429 and the time of a retry if the queue is full', async () => {
    const answers = await Promise.all(Array.from({ length: 30 }, () => post(minimal)));
    const refused = answers.filter((answer) => answer.statusCode === 429);
    expect(refused.length).toBeGreaterThan(0);
    expect(Number(refused[0]?.headers['retry-after'])).toBeGreaterThanOrEqual(1);
    expect(answers.filter((answer) => answer.statusCode === 200).length).toBeGreaterThan(0);
  });
});

describe('the other routes', () => {
  it('describe the server', async () => {
    expect((await app.inject('/v1/info')).json()).toMatchObject({
      version: '1.2.3',
      engine: 'Synth',
      roles: ['Generalist', 'Draft'],
      learned: false,
      languages: expect.arrayContaining(['python']) as string[],
      modelDigest: expect.stringMatching(/^sha256:[0-9a-f]{64}$/) as string,
    });
    expect((await app.inject('/healthz')).statusCode).toBe(200);
  });

  it('count answers by code', async () => {
    await post({ ...minimal, k: 0 });
    const { body } = await app.inject('/metrics');
    expect(body).toMatch(/agentfleet_inference_requests_total\{capability="Generate",code="AF_INVALID"\} [1-9]/);
    expect(body).toMatch(/agentfleet_inference_requests_total\{capability="Generate",code="ok"\} [1-9]/);
    expect(body).toMatch(/agentfleet_inference_queue_waiting 0/);
  });

  it('are ready after a generated answer, until the server stops', async () => {
    expect((await app.inject('/readyz')).json()).toEqual({ ready: true });
    server.readiness.stop();
    expect(await app.inject('/readyz')).toMatchObject({ statusCode: 503 });
  });
});
