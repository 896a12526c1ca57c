import { afterEach, beforeEach, describe, expect, test, vi } from 'vitest';
import type { GenerateResponse, InferenceInfo } from '@agentfleet/protocol/inference';
import { readConfig } from '../../base/config.ts';
import { createLog } from '@agentfleet/protocol/log';
import { startServer, type RunningServer } from '../../start.ts';
import { asking } from '../testing/request.ts';
import { FakeEngine } from './testing/engine.ts';

const file = { path: 'calc.py', content: 'def add(a, b):\n    return a - b\n' };
const says = (replace: string): string => JSON.stringify({ edits: [{ path: 'calc.py', find: 'a - b', replace }], reason: `to ${replace}` });
const digest = `sha256:${'a'.repeat(64)}`;

describe('a server with a language model behind it', () => {
  let engine: FakeEngine;
  let running: RunningServer | undefined;
  beforeEach(() => {
    engine = new FakeEngine('coding.core');
  });
  afterEach(async () => {
    await engine.stop();
    await running?.stop();
    running = undefined;
  });

  async function start(env: Readonly<Record<string, string>> = {}): Promise<string> {
    const upstream = await engine.start();
    const config = readConfig({
      AGENTFLEET_ENGINE: 'VLLM',
      AGENTFLEET_ROLES: 'Generalist',
      AGENTFLEET_LISTEN: '127.0.0.1:0',
      AGENTFLEET_AUTHENTICATION: 'None',
      AGENTFLEET_UPSTREAM: upstream,
      AGENTFLEET_MODEL: 'coding.core',
      AGENTFLEET_ARTIFACT_DIGEST: digest,
      ...env,
    });
    const logger = createLog(
      'silent',
      () => undefined,
      () => 0,
    );
    // A clock that makes every proof old at once.
    let time = 0;
    running = await startServer({ config, logger, now: () => (time += 100_000) });
    return running.addresses[0] ?? '';
  }

  const ask = (origin: string, more: object = {}): Promise<Response> =>
    fetch(`${origin}/v1/generate`, {
      method: 'POST',
      headers: { 'content-type': 'application/json' },
      body: JSON.stringify({ ...asking(file), ...more }),
    });
  const ready = async (origin: string): Promise<number> => (await fetch(`${origin}/readyz`)).status;

  test('asks once for all candidates, ranks them by likelihood, and leaves out inapplicable ones', async () => {
    const origin = await start();
    engine.replies = [says('a + b'), says('b - a'), says('a + b'), 'no JSON'];
    const response = (await (await ask(origin, { k: 4 })).json()) as GenerateResponse;
    expect(engine.chats).toHaveLength(1);
    expect(engine.chats[0]).toMatchObject({ model: 'coding.core', n: 4, logprobs: true, response_format: { type: 'json_schema' } });
    expect(response).toMatchObject({ engine: 'VLLM', exhausted: false, truncated: true, margin: 0.25 });
    expect(response.candidates.map(({ edits, energy, rank }) => [edits[0]?.after, energy, rank])).toEqual([
      ['a + b', 0.5, 1],
      ['b - a', 0.75, 2],
    ]);
    expect(response.returnedMass).toBeCloseTo(1);
    const first = response.candidates[0]?.id;
    const again = (await (await ask(origin, { k: 4, exclude: [first] })).json()) as GenerateResponse;
    expect(again.candidates.map(({ edits }) => edits[0]?.after)).toEqual(['b - a']);
  });

  test('is ready when it generates, and no longer when it does not', async () => {
    const origin = await start();
    expect(await ready(origin)).toBe(200);
    engine.faults.generate = 500;
    expect(await ready(origin)).toBe(503);
    const refused = await ask(origin);
    expect([refused.status, await refused.text()]).toEqual([503, expect.stringContaining('AF_ENGINE_UNAVAILABLE')]);
    delete engine.faults.generate;
    expect(await ready(origin)).toBe(200);
    const info = (await (await fetch(`${origin}/v1/info`)).json()) as InferenceInfo;
    expect(info).toMatchObject({ engine: 'VLLM', learned: true, about: { artifactDigest: digest } });
  });

  test('reports how many tokens the engine holds, as soon as it is known', async () => {
    engine.kvBlocks = undefined;
    const origin = await start();
    const infoNow = async (): Promise<InferenceInfo> => (await (await fetch(`${origin}/v1/info`)).json()) as InferenceInfo;
    expect(await ready(origin)).toBe(200);
    expect((await infoNow()).memory).toBeUndefined();
    engine.kvBlocks = 7500;
    expect(await ready(origin)).toBe(200);
    expect((await infoNow()).memory).toEqual({ kvTokens: 120_000 });
  });

  test('gives the engine its adapter again whenever it has forgotten it', async () => {
    const origin = await start({ AGENTFLEET_ADAPTER: 'coding.py=/weights/py' });
    expect(await ready(origin)).toBe(200);
    await ask(origin);
    expect(engine.chats[0]).toMatchObject({ model: 'coding.py' });
    engine.restart();
    expect((await ask(origin)).status).toBe(200);
    engine.restart();
    expect(await ready(origin)).toBe(200);
    engine.adapters = false;
    engine.restart();
    expect((await ask(origin)).status).toBe(500);
    expect(await ready(origin)).toBe(503);
  });

  test('lets the idle engine sleep, is ready meanwhile, and wakes it for a request', async () => {
    const origin = await start({ AGENTFLEET_SLEEP_AFTER_SECONDS: '1' });
    await vi.waitFor(() => expect(engine.sleeping).toBe(true), 30_000);
    expect(await ready(origin)).toBe(200);
    expect(engine.sleeping).toBe(true);
    engine.replies = [says('a + b')];
    const { candidates } = (await (await ask(origin, { k: 1 })).json()) as GenerateResponse;
    expect(candidates).toHaveLength(1);
    expect(engine.chats.at(-1)).toMatchObject({ temperature: 0 });
  });

  test('answers running requests before it stops', async () => {
    const origin = await start({ AGENTFLEET_DRAIN_SECONDS: '60' });
    engine.replies = [says('a + b')];
    engine.held = true;
    const answer = ask(origin, { k: 1 });
    await vi.waitFor(() => expect(engine.chats).toHaveLength(1), 30_000);
    const stopped = running?.stop();
    running = undefined;
    expect((await ask(origin).catch(() => ({ status: 503 }))).status).toBe(503);
    engine.release();
    expect((await answer).status).toBe(200);
    await stopped;
  });

  test('returns only the text without likelihoods', async () => {
    const origin = await start();
    engine.faults.zeroLogprobs = true;
    engine.replies = [says('a + b'), says('b - a')];
    const { candidates, margin } = (await (await ask(origin)).json()) as GenerateResponse;
    expect([candidates.length, margin]).toEqual([2, 0]);
    engine.faults.cut = true;
    expect(((await (await ask(origin)).json()) as GenerateResponse).candidates).toEqual([]);
  });
});
