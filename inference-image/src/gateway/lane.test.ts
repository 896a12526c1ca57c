import { afterEach, beforeEach, describe, expect, it, vi } from 'vitest';
import { GatewayError } from './providers/gatewayError.ts';
import { Lane } from './lane.ts';
import { Replicas, delayAfter, retryPolicy } from './route.ts';

beforeEach(() => void vi.useFakeTimers());
afterEach(() => void vi.useRealTimers());
const now = (): number => Date.now();
const signal = new AbortController().signal;
/** Lets resolved promises continue. */
const settle = (): Promise<unknown> => vi.advanceTimersByTimeAsync(0);

/** Enters, and writes down when it may. */
function enter(lane: Lane, name: string, began: string[], by: AbortSignal = signal): Promise<() => void> {
  const entered = lane.enter(by);
  entered.then(
    () => began.push(name),
    () => undefined,
  );
  return entered;
}

describe('a lane', () => {
  it('lets as many go as it may, the others in their order', async () => {
    const lane = new Lane({ concurrency: 2 }, now);
    const began: string[] = [];
    const [a] = ['a', 'b', 'c', 'd'].map((name) => enter(lane, name, began));
    await settle();
    expect(began).toEqual(['a', 'b']);
    const leave = await a;
    leave?.();
    leave?.(); // once is enough
    await settle();
    expect([began, lane.underWay, lane.waiting]).toEqual([['a', 'b', 'c'], 2, 1]);
    lane.limits = { concurrency: 3 };
    await settle();
    expect(began).toEqual(['a', 'b', 'c', 'd']);
  });

  it('begins so many in any minute', async () => {
    const lane = new Lane({ concurrency: 9, requestsPerMinute: 2 }, now);
    const began: string[] = [];
    for (const name of ['a', 'b', 'c']) void enter(lane, name, began).then((leave) => leave());
    await vi.advanceTimersByTimeAsync(59_000);
    expect(began).toEqual(['a', 'b']);
    await vi.advanceTimersByTimeAsync(1_001);
    expect(began).toEqual(['a', 'b', 'c']);
  });

  it('counts a repetition of a request under way, which needs no other place and goes before those that wait for one', async () => {
    const lane = new Lane({ concurrency: 1, requestsPerMinute: 2 }, now);
    const began: string[] = [];
    const leave = await enter(lane, 'a', began);
    void enter(lane, 'b', began);
    await lane.again(signal);
    void lane.again(signal).then(() => began.push('a again'));
    const leaving = new AbortController();
    const gone = expect(lane.again(leaving.signal)).rejects.toThrow('gone');
    leaving.abort(new Error('gone'));
    await gone;
    await vi.advanceTimersByTimeAsync(59_000);
    expect([began, lane.underWay, lane.waiting]).toEqual([['a'], 1, 2]);
    await vi.advanceTimersByTimeAsync(1_001);
    expect([began, lane.underWay, lane.waiting]).toEqual([['a', 'a again'], 1, 1]);
    leave();
    await vi.advanceTimersByTimeAsync(60_000);
    expect(began).toEqual(['a', 'a again', 'b']);
  });

  it('forgets disconnected callers, and refuses when too many wait', async () => {
    const lane = new Lane({ concurrency: 1 }, now);
    const began: string[] = [];
    const first = enter(lane, 'a', began);
    const leaving = new AbortController();
    const gone = enter(lane, 'b', began, leaving.signal);
    const rest = Array.from({ length: 15 }, (_, at) => enter(lane, `c${at}`, began));
    await expect(enter(lane, 'd', began)).rejects.toMatchObject({ code: 'RateLimited', retryable: true });
    leaving.abort(new Error('gone'));
    await expect(gone).rejects.toThrow('gone');
    (await first)();
    await settle();
    expect(began).toEqual(['a', 'c0']);
    for (const each of rest) (await each)();
    expect(lane.underWay).toBe(0);
  });
});

describe('replicas', () => {
  const urls = ['http://a/v1', 'http://b/v1', 'http://c/v1'];
  const names = Array.from({ length: 60 }, (_, at) => `conversation-${at}`);
  const placed = (all: readonly string[]): Map<string, string> => {
    const replicas = new Replicas(now);
    replicas.urls = all;
    return new Map(
      names.map((name) => {
        const { url, done } = replicas.take(name);
        done(false);
        return [name, url];
      }),
    );
  };

  it('keep a conversation where it was, also when another replica is removed', () => {
    const before = placed(urls);
    expect(placed(urls)).toEqual(before);
    expect(new Set(before.values()).size).toBe(3);
    const after = placed(urls.slice(0, 2));
    for (const [name, url] of before) if (url !== 'http://c/v1') expect(after.get(name)).toBe(url);
  });

  it('take work of one that is much busier, and of one that failed until it is forgotten', () => {
    const replicas = new Replicas(now);
    replicas.urls = urls.slice(0, 2);
    const taken = Array.from({ length: 6 }, () => replicas.take('same'));
    const [home] = taken;
    expect(taken.map(({ url }) => url === home?.url)).toEqual([true, true, true, true, false, true]);
    for (const { done } of taken) done(false);
    replicas.take('same').done(true);
    expect(replicas.take('same').url).not.toBe(home?.url);
    vi.advanceTimersByTime(10_000);
    expect(replicas.take('same').url).toBe(home?.url);
  });
});

describe('the wait before another try', () => {
  const failure = (code: 'ProviderUnreachable' | 'ProviderTimeout' | 'CredentialRefused', retryAfterMs?: number): GatewayError =>
    new GatewayError(code, 'x', { retryAfterMs });
  it.each([
    [failure('ProviderUnreachable'), 1, 0, 250],
    [failure('ProviderUnreachable'), 1, 0.999, 499.75],
    [failure('ProviderUnreachable'), 3, 0, 1000],
    [failure('ProviderUnreachable'), 4, 0, null],
    [failure('ProviderUnreachable', 7000), 1, 0, 7000],
    [failure('ProviderUnreachable', 31_000), 1, 0, null],
    [failure('ProviderTimeout'), 1, 0, 250],
    [failure('ProviderTimeout'), 2, 0, null],
    [failure('CredentialRefused'), 1, 0, null],
  ])('%# grows, is what the provider asks for, and has an end', (error, failures, random, ms) => {
    expect(delayAfter(error, failures, random, retryPolicy)).toBe(ms);
  });
});
