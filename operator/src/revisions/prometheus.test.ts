import { silentLog } from '@agentfleet/kube';
import { VirtualClock } from '@agentfleet/kube/testing';
import type { RolloutPolicySpec } from '@agentfleet/protocol/api';
import { describe, expect, it } from 'vitest';
import { numberOf, QueryReader } from './prometheus.ts';

const spec = {
  prometheus: { url: 'http://prometheus:9090/', timeoutSeconds: 5 },
  gates: [{ name: 'gpu', metric: 'Query', query: 'x{revision="$canary"} / x{revision="$stable"}', atMost: '1' }],
} as unknown as RolloutPolicySpec;
const arms = { stable: 'aaaaaaaaaa', canary: 'bbbbbbbbbb' };
const vector = (...values: readonly string[]): string =>
  JSON.stringify({ status: 'success', data: { resultType: 'vector', result: values.map((value) => ({ metric: {}, value: [1, value] })) } });

describe('a query of a gate', () => {
  it('names the revisions, and is answered by one number', async () => {
    const urls: string[] = [];
    const reader = new QueryReader({
      ask: (url) => (urls.push(url), Promise.resolve(vector('0.5'))),
      clock: new VirtualClock(),
      log: silentLog,
    });
    expect(await reader.read(spec, arms, new AbortController().signal)).toEqual(new Map([['gpu', { value: 0.5 }]]));
    await reader.read(spec, arms, new AbortController().signal);
    expect(urls).toEqual([
      `http://prometheus:9090/api/v1/query?query=${encodeURIComponent('x{revision="bbbbbbbbbb"} / x{revision="aaaaaaaaaa"}')}`,
    ]);
  });

  it('is asked again after ten seconds', async () => {
    const clock = new VirtualClock();
    const left: (string | undefined)[] = ['1', '2', undefined, '3'];
    const ask = (): Promise<string> => {
      const next = left.shift();
      return next === undefined ? Promise.reject(new Error('refused')) : Promise.resolve(vector(next));
    };
    const reader = new QueryReader({ ask, clock, log: silentLog });
    const read = async () => (await reader.read(spec, arms, new AbortController().signal)).get('gpu');
    for (const expected of [{ value: 1 }, { value: 2 }, { lacks: 'refused' }, { value: 3 }]) {
      expect(await read()).toEqual(expected);
      expect(await read()).toEqual(expected);
      await clock.advance(10_000);
    }
  });

  it.each([
    ['no series', vector(), '0 series answer'],
    ['two series', vector('1', '2'), '2 series answer'],
    ['no number', vector('NaN'), 'no number'],
    ['a refusal', JSON.stringify({ status: 'error', error: 'parse error' }), 'the query was refused: parse error'],
    ['no JSON', '<html>', 'JSON'],
  ])('has no answer with %s, and reports why', async (_, text, words) => {
    const reader = new QueryReader({ ask: () => Promise.resolve(text), clock: new VirtualClock(), log: silentLog });
    const reported = await reader.read(spec, arms, new AbortController().signal);
    expect(reported.get('gpu')).toEqual({ lacks: expect.stringContaining(words) as string });
    expect(() => numberOf(text)).toThrow();
  });

  it('has none of a server that is away or silent', async () => {
    const clock = new VirtualClock();
    const away = new QueryReader({ ask: () => Promise.reject(new Error('refused')), clock, log: silentLog });
    expect((await away.read(spec, arms, new AbortController().signal)).get('gpu')).toEqual({ lacks: 'refused' });
    const silent = new QueryReader({
      ask: (_, signal) => new Promise((_resolve, reject) => signal.addEventListener('abort', () => reject(new Error('late')))),
      clock,
      log: silentLog,
    });
    const reading = silent.read(spec, arms, new AbortController().signal);
    await clock.advance(6_000);
    expect((await reading).get('gpu')).toEqual({ lacks: 'none within 5 s' });
  });
});
