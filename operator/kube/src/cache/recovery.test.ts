import { describe, expect, it } from 'vitest';
import { KubeError } from '../runtime/errors.ts';
import { silentLog } from '../runtime/log.ts';
import { seededRandom } from '../testing/random.ts';
import { ScriptedServer } from '../testing/scriptedServer.ts';
import { VirtualClock } from '../testing/virtualClock.ts';
import { widgets } from '../testing/widget.ts';
import { ApiError } from '../transport/apiError.ts';
import { Reflector } from './reflector.ts';

interface Stage extends AsyncDisposable {
  readonly clock: VirtualClock;
  readonly server: ScriptedServer;
}

/** Reflectors that share one transport, in virtual time. */
async function stage(count: number, seed = 7): Promise<Stage> {
  const clock = new VirtualClock();
  const random = seededRandom(seed);
  const server = new ScriptedServer(clock, random);
  const stop = new AbortController();
  const target = { replace: (): void => {}, apply: (): void => {}, progress: (): void => {} };
  const options = { transport: server.transport, resource: widgets, clock, random, log: silentLog, stallMs: 1e9, watchSeconds: 1e6 };
  const running = Array.from({ length: count }, () => new Reflector(options, target).run(stop.signal));
  await clock.advance(1);
  expect(server.watches).toBe(count);
  const close = async (): Promise<void> => {
    stop.abort();
    server.die();
    await clock.advance(1);
    await Promise.all(running);
  };
  return { clock, server, [Symbol.asyncDispose]: close };
}

const overload = (seconds?: number): ApiError =>
  new ApiError(429, { reason: 'TooManyRequests', ...(seconds === undefined ? {} : { details: { retryAfterSeconds: seconds } }) }, 'WATCH');

it('reports once that the server does not serve a resource, and again after it did', async () => {
  const clock = new VirtualClock();
  const random = seededRandom(7);
  const server = new ScriptedServer(clock, random);
  const stop = new AbortController();
  const target = { replace: (): void => {}, apply: (): void => {}, progress: (): void => {} };
  let warned = 0;
  const missing = (): ApiError => new ApiError(404, { reason: 'NotFound' }, 'LIST widgets');
  server.refusal = missing;
  const log = { ...silentLog, warn: () => void (warned += 1) };
  const running = new Reflector({ transport: server.transport, resource: widgets, clock, random, log, stallMs: 1e9 }, target).run(
    stop.signal,
  );
  for (let minute = 0; minute < 10; minute += 1) await clock.advance(60_000);
  expect(server.asked.length).toBeGreaterThan(3);
  expect(warned).toBe(1);
  server.refusal = undefined;
  await clock.advance(120_000);
  expect(server.watches).toBe(1);
  server.refusal = missing;
  server.die();
  server.up = true;
  for (let minute = 0; minute < 10; minute += 1) await clock.advance(60_000);
  expect(warned).toBe(3);
  stop.abort();
  await clock.advance(1);
  await running;
});

describe('recovery after the server died', () => {
  it('is as quick the tenth time as the first: within two seconds of the server', async () => {
    await using scene = await stage(20);
    const { clock, server } = scene;
    for (let death = 1; death <= 10; death += 1) {
      await clock.advance(2500);
      server.die();
      await clock.advance(3000 + death * 5000);
      server.up = true;
      await clock.advance(2000);
      expect(server.watches, `after death ${death}`).toBe(20);
    }
  });

  it('asks once a second however many wait, and lets them come back one after the other', async () => {
    await using scene = await stage(50);
    const { clock, server } = scene;
    await clock.advance(2500);
    const before = { asked: server.asked.length, opened: server.opened.length };
    server.die();
    await clock.advance(60_000);
    // One try of each when its watch broke; from then on one look for all.
    expect(server.asked.length - before.asked).toBe(0);
    expect(server.looks.length).toBeLessThanOrEqual(85);
    server.up = true;
    await clock.advance(2000);
    const back = server.opened.slice(before.opened);
    expect(back).toHaveLength(50);
    expect(new Set(back.map(Math.floor)).size).toBeGreaterThan(25);
  });

  it('a server that dies right after each start is asked less and less, but at least every three seconds', async () => {
    await using scene = await stage(1);
    const { clock, server } = scene;
    for (let i = 0; i < 200; i += 1) {
      server.die();
      server.up = true;
      await clock.advance(500);
    }
    const gaps = server.opened.slice(1).map((at, i) => at - (server.opened[i] ?? 0));
    expect(server.opened.length).toBeLessThanOrEqual(80);
    expect(Math.max(...gaps)).toBeLessThanOrEqual(3000);
  });

  it('does not look while no cache waits', async () => {
    await using scene = await stage(3);
    const { clock, server } = scene;
    server.die();
    await clock.advance(1000);
    server.up = true;
    await clock.advance(5000);
    const { length } = server.looks;
    for (let minute = 0; minute < 10; minute += 1) await clock.advance(60_000);
    expect(server.looks).toHaveLength(length);
  });
});

describe('a server that refuses', () => {
  it('in a storm of 429 is asked less and less, and never before the time that it names', async () => {
    await using scene = await stage(1);
    const { clock, server } = scene;
    server.refusal = () => overload(5);
    server.die();
    server.up = true;
    const from = server.asked.length;
    for (let minute = 0; minute < 10; minute += 1) await clock.advance(60_000);
    const asked = server.asked.slice(from);
    const gaps = asked.slice(1).map((at, i) => at - (asked[i] ?? 0));
    expect(Math.min(...gaps)).toBeGreaterThanOrEqual(5000);
    expect(asked.length).toBeLessThanOrEqual(30);
    server.refusal = undefined;
    await clock.advance(60_000);
    expect(server.watches).toBe(1);
  });

  it('for a moment after a start is met soon again, whatever came before', async () => {
    await using scene = await stage(1);
    const { clock, server } = scene;
    for (let round = 0; round < 8; round += 1) {
      let left = 1;
      server.refusal = () => (left-- > 0 ? overload() : undefined);
      await clock.advance(2500);
      server.die();
      server.up = true;
      await clock.advance(2200);
      expect(server.watches, `round ${round}`).toBe(1);
    }
  });

  it('sends damaged data: each list is asked for later than the one before, whatever lies between', async () => {
    await using scene = await stage(1);
    const { clock, server } = scene;
    const damaged = new KubeError('AF_API_MALFORMED', { what: 'no JSON', where: 'w', cure: 'none' });
    let bad = 0;
    server.refusal = () => ((bad += 1) % 2 === 1 ? damaged : undefined);
    const from = server.opened.length;
    for (let i = 0; i < 100; i += 1) {
      await clock.advance(6000);
      server.die();
      server.up = true;
    }
    // A hundred without the memory; with it the wait grows to 30 to 60 s.
    expect(server.opened.length - from).toBeLessThanOrEqual(35);
  });
});
