// Engines that share a GPU, with room for one: real HTTP between servers, turnstile and engines, in one process.
import { setTimeout as delay } from 'node:timers/promises';
import { afterEach, beforeEach, describe, expect, test, vi } from 'vitest';
import { defaultTimes } from '../../turnstile/policy.ts';
import { runTurnstile, type RunningTurnstile } from '../../turnstile/index.ts';
import { FakeGpu } from './testing/gpu.ts';
import { freePort, Place, quiet, type Answered } from './testing/place.ts';

const patience = { timeout: 60_000, interval: 20 };
const times = { ...defaultTimes, turnMs: 300, settleMs: 300, lingerMs: 20, goneMs: 3_000, retryMs: 200, lookMs: 100 };

describe('engines with room for one', () => {
  let gpu: FakeGpu;
  let port: number;
  let turnstile: RunningTurnstile;
  let places: Place[];
  beforeEach(async () => {
    gpu = new FakeGpu();
    port = await freePort();
    turnstile = await open();
    places = [];
  });
  afterEach(async () => {
    await Promise.all(places.map((place) => place.remove()));
    await turnstile.stop();
  });

  const open = (): Promise<RunningTurnstile> =>
    runTurnstile({
      config: { access: null, listen: { host: '127.0.0.1', port }, times, logLevel: 'silent' },
      logger: quiet,
      now: () => performance.now(),
    });

  async function start(count: number): Promise<void> {
    places = Array.from(
      { length: count },
      (_, index) => new Place({ name: `e${index}`, turnstile: `http://127.0.0.1:${port}`, gpu, answerMs: 30 }),
    );
    await Promise.all(places.map((place) => place.start()));
  }

  /** Several callers of each engine, each with several requests one after the other. */
  const load = (callers: number, each: number): Promise<readonly Answered[]> =>
    Promise.all(
      places.flatMap((place) =>
        Array.from({ length: callers }, async () => {
          const answers: Answered[] = [];
          for (let index = 0; index < each; index += 1) answers.push(await place.answered());
          return answers;
        }),
      ),
    ).then((all) => all.flat());
  const cuts = (): readonly number[] => places.map(({ engine }) => engine.cuts);
  const members = async (): Promise<readonly { readonly item: string; readonly state: string; readonly fault: string | null }[]> =>
    ((await (await fetch(`${turnstile.address}/v1/members`)).json()) as { members: [] }).members;
  const metric = async (line: string): Promise<boolean> => (await (await fetch(`${turnstile.address}/metrics`)).text()).includes(line);

  test('are loaded one after the other, proved once, and answer a mixed load in turns', async () => {
    await start(4);
    expect(gpu.refused).toEqual([]);
    expect(new Set(gpu.record)).toEqual(new Set(['e0', 'e1', 'e2', 'e3']));
    for (const place of places) expect((await fetch(`${place.address}/readyz`)).status).toBe(200);
    const loaded = gpu.record.length;
    const answers = await load(3, 5);
    expect(answers.filter(({ tries }) => tries > 1)).toEqual([]);
    expect([gpu.refused, cuts()]).toEqual([[], [0, 0, 0, 0]]);
    expect(new Set(gpu.record.slice(loaded)).size, gpu.record.join(' ')).toBe(4);
    expect(await metric(`agentfleet_turnstile_awake{item="${gpu.holder}"} 1`)).toBe(true);
    expect(await metric('agentfleet_turnstile_members 4')).toBe(true);
    expect((await members()).filter(({ state }) => state === 'Awake')).toHaveLength(1);
  });

  test('go on when the turnstile ends and starts anew: what is under way is not cut, what is new waits for it', async () => {
    await start(3);
    const loading = load(2, 6);
    for (let again = 0; again < 2; again += 1) {
      await delay(400);
      await turnstile.stop();
      await delay(300);
      turnstile = await open();
    }
    const answers = await loading;
    expect(answers).toHaveLength(36);
    expect(answers.flatMap(({ refusals }) => refusals)).toEqual([]);
    expect([gpu.refused, cuts()]).toEqual([[], [0, 0, 0]]);
  });

  test('make room for one whose process died, and it takes its turns again', async () => {
    await start(3);
    const loading = load(2, 6);
    await delay(300);
    await places[1]?.killEngine();
    await loading;
    expect(cuts()).toEqual([0, 0, 0]);
    // By itself it may have come when there was no room; nobody else did.
    expect(gpu.refused.filter((who) => !who.startsWith('e1 '))).toEqual([]);
    expect((await places[1]?.answered())?.tries).toBeGreaterThan(0);
  });

  test('wait for one that does not sleep; it serves meanwhile, others hear when to come again, and all go on when it does', async () => {
    await start(2);
    const [stuck, other] = places as [Place, Place];
    await stuck.answered();
    stuck.engine.faults.sleep = 500;
    const refused = await other.ask(600);
    expect([refused.status, refused.headers.get('retry-after')]).toEqual([503, '1']);
    expect(await refused.text()).toMatch(/AF_ENGINE_UNAVAILABLE.*no turn on the GPU within 600 ms: other engines have the GPU/);
    expect((await stuck.answered()).tries).toBe(1);
    const answer = other.answered();
    await vi.waitFor(async () => expect(await metric('agentfleet_turnstile_faulty{item="e0"} 1')).toBe(true), patience);
    expect((await members()).find(({ item }) => item === 'e0')?.fault).toMatch(/it did not sleep: .*POST \/sleep.*500/);
    expect(gpu.holder).toBe('e0');
    delete stuck.engine.faults.sleep;
    await answer;
    expect(await metric('agentfleet_turnstile_faulty{item="e0"} 0')).toBe(true);
    expect([gpu.refused, cuts()]).toEqual([[], [0, 0]]);
  });

  test('leave one out that does not wake, until it does', async () => {
    await start(3);
    const [broken, ...others] = places as [Place, Place, Place];
    for (const place of places) await place.answered();
    broken.engine.faults.wake = 500;
    const answer = broken.answered();
    await vi.waitFor(
      async () => expect((await members()).some(({ fault }) => fault?.startsWith('it did not wake') === true)).toBe(true),
      patience,
    );
    for (const place of [...others, ...others]) await place.answered();
    delete broken.engine.faults.wake;
    await answer;
    expect([gpu.refused, cuts()]).toEqual([[], [0, 0, 0]]);
  });

  test('go on without one whose pod is gone, also when it had the GPU', async () => {
    await start(3);
    await places[2]?.answered();
    expect(gpu.holder).toBe('e2');
    await places.pop()?.remove();
    await load(2, 2);
    await vi.waitFor(async () => expect(await members()).toHaveLength(2), patience);
    expect([gpu.refused, cuts()]).toEqual([[], [0, 0]]);
  });

  test('are asked by a herd, and nobody is left', async () => {
    await start(4);
    const answers = await load(16, 1);
    expect(answers).toHaveLength(64);
    expect([gpu.refused, cuts()]).toEqual([[], [0, 0, 0, 0]]);
  });
});
