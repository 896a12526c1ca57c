import { mkdtemp, rm } from 'node:fs/promises';
import { tmpdir } from 'node:os';
import { join } from 'node:path';
import { accessEnvironment, expertsAudience, metricsAudience } from '@agentfleet/protocol/tokens';
import { issuer, Signer, type TokenSpec } from '@agentfleet/protocol/tokens/testing';
import { afterAll, beforeAll, describe, expect, test } from 'vitest';
import { readConfig } from '../base/config.ts';
import { example } from '../engines/synth/propose.ts';
import { createLog } from '@agentfleet/protocol/log';
import { startServer, type RunningServer } from '../start.ts';

const audience = expertsAudience('fleet');
const worker = 'system:serviceaccount:fleet:coding-worker';
const scraper = 'system:serviceaccount:monitoring:prometheus';
const seconds = (): number => Math.floor(Date.now() / 1000);
const logger = createLog('silent', () => undefined, Date.now);
const now = (): number => performance.now();

let folder: string;
let signer: Signer;
let stranger: Signer;
let server: RunningServer;
let origins: Readonly<Record<'server', string>>;

beforeAll(async () => {
  folder = await mkdtemp(join(tmpdir(), 'access-'));
  signer = await Signer.create();
  stranger = await Signer.create();
  const jwks = join(folder, 'jwks.json');
  await signer.writeJwks(jwks);
  const env = {
    [accessEnvironment.issuer]: issuer,
    [accessEnvironment.jwks]: jwks,
    [accessEnvironment.audience]: audience,
    [accessEnvironment.callers]: worker,
    [accessEnvironment.metricsReaders]: scraper,
    AGENTFLEET_LISTEN: '127.0.0.1:0',
  };
  const config = readConfig(env);
  server = await startServer({ config, logger, now });
  origins = { server: server.addresses[0] ?? '' };
});

afterAll(async () => {
  await server.stop();
  await rm(folder, { recursive: true });
});

type Origin = keyof typeof origins;

async function call(origin: Origin, route: string, authorization?: string) {
  const [method = '', path = ''] = route.split(' ');
  const response = await fetch(`${origins[origin]}${path}`, {
    method,
    headers: {
      ...(authorization !== undefined && { authorization }),
      ...(method === 'POST' && { 'content-type': 'application/json' }),
    },
    ...(method === 'POST' && { body: JSON.stringify(example) }),
  });
  return { status: response.status, text: await response.text() };
}

const bearer = async (spec: TokenSpec & { readonly by?: Signer } = {}): Promise<string> =>
  `Bearer ${await (spec.by ?? signer).token((spec.audience as string | undefined) ?? audience, { subject: worker, ...spec })}`;

const work: readonly (readonly [Origin, string])[] = [
  ['server', 'POST /v1/generate'],
  ['server', 'POST /v1/score'],
  ['server', 'GET /v1/generate'],
  ['server', 'GET /nowhere'],
];
const reads: readonly (readonly [Origin, string])[] = [
  ['server', 'GET /metrics'],
  ['server', 'GET /v1/info'],
];

describe('every route but the probes', () => {
  test.each([...work, ...reads])('of the %s is closed without a token or with a wrong one: %s', async (origin, route) => {
    const refused: readonly (readonly [string | undefined, number, string])[] = [
      [undefined, 401, 'no Authorization header'],
      ['Basic d29ya2VyOnNlY3JldA==', 401, 'is not \\"Bearer <token>\\"'],
      [await bearer({ expires: seconds() - 60 }), 401, 'it expired at'],
      [await bearer({ audience: 'https://kubernetes.default.svc' }), 401, 'wrong audience'],
      [await bearer({ audience: expertsAudience('other') }), 401, 'wrong audience'],
      [await bearer({ issuer: 'https://elsewhere' }), 401, 'wrong issuer'],
      [await bearer({ by: stranger }), 401, 'signature'],
      [await bearer({ subject: 'system:serviceaccount:fleet:default' }), 403, 'may not call this server'],
      [await bearer({ subject: 'system:serviceaccount:other:coding-worker' }), 403, 'may not call this server'],
    ];
    for (const [authorization, status, words] of refused) {
      const answer = await call(origin, route, authorization);
      expect([answer.status, answer.text]).toEqual([status, expect.stringContaining(words)]);
      expect(answer.text).toContain(status === 401 ? 'AF_UNAUTHENTICATED' : 'AF_FORBIDDEN');
    }
  });

  test.each(reads)('of the %s that reports is open to scrapers and to callers: %s', async (origin, route) => {
    const scraping = await bearer({ audience: metricsAudience, subject: scraper });
    expect((await call(origin, route, scraping)).status).toBe(200);
    expect((await call(origin, route, await bearer())).status).toBe(200);
    expect((await call(origin, route, await bearer({ audience: metricsAudience }))).status).toBe(403);
  });

  test.each(work)('of the %s that works is closed to scrapers: %s', async (origin, route) => {
    const scraping = await bearer({ audience: metricsAudience, subject: scraper });
    expect((await call(origin, route, scraping)).status).toBe(401);
    expect((await call(origin, route, await bearer({ subject: scraper }))).status).toBe(403);
  });
});

test('a worker of the pool is answered', async () => {
  const { status, text } = await call('server', 'POST /v1/generate', await bearer());
  expect([status, text]).toEqual([200, expect.stringContaining('candidates')]);
  expect((await call('server', 'POST /v1/score', await bearer())).text).toContain('AF_CAPABILITY_UNSUPPORTED');
});

test('probes need no token, and report only success or failure', async () => {
  expect(await call('server', 'GET /healthz')).toEqual({ status: 200, text: '{"ok":true}' });
  expect(await call('server', 'GET /readyz')).toEqual({ status: 200, text: '{"ready":true}' });
});

test('refusals are counted by their reason', async () => {
  const metrics = async (): Promise<string> =>
    (await call('server', 'GET /metrics', await bearer({ audience: metricsAudience, subject: scraper }))).text;
  const missing = async (): Promise<number> =>
    Number(/agentfleet_inference_refusals_total\{reason="missing"\} (\d+)/.exec(await metrics())?.[1] ?? 0);
  const before = await missing();
  await call('server', 'POST /v1/generate');
  expect(await missing()).toBe(before + 1);
});
