import { silentLog } from '@agentfleet/kube';
import { VirtualClock } from '@agentfleet/kube/testing';
import type { Rollout } from '@agentfleet/protocol/api';
import { describe, expect, it } from 'vitest';
import { numberOf, QueryReader } from './prometheus.ts';

const spec = {
  prometheus: { url: 'http://prometheus:9090/', timeoutSeconds: 5 },
  gates: [{ name: 'gpu', type: 'Query', query: { query: 'x{revision="$canary"} / x{revision="$stable"}', max: '1' } }],
} as unknown as Rollout;
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
    expect(await reader.read(spec, arms, new AbortController().signal)).toEqual(new Map([['gpu', 0.5]]));
    await reader.read(spec, arms, new AbortController().signal);
    expect(urls).toEqual([
      `http://prometheus:9090/api/v1/query?query=${encodeURIComponent('x{revision="bbbbbbbbbb"} / x{revision="aaaaaaaaaa"}')}`,
    ]);
  });

  it.each([
    ['no series', vector()],
    ['two series', vector('1', '2')],
    ['no number', vector('NaN')],
    ['a refusal', JSON.stringify({ status: 'error', error: 'parse error' })],
    ['no JSON', '<html>'],
  ])('has no answer with %s', async (_, text) => {
    const reader = new QueryReader({ ask: () => Promise.resolve(text), clock: new VirtualClock(), log: silentLog });
    expect(await reader.read(spec, arms, new AbortController().signal)).toEqual(new Map());
    expect(() => numberOf(text)).toThrow();
  });

  it('has none of a server that is away or silent', async () => {
    const clock = new VirtualClock();
    const away = new QueryReader({ ask: () => Promise.reject(new Error('refused')), clock, log: silentLog });
    expect(await away.read(spec, arms, new AbortController().signal)).toEqual(new Map());
    const silent = new QueryReader({
      ask: (_, signal) => new Promise((_resolve, reject) => signal.addEventListener('abort', () => reject(new Error('late')))),
      clock,
      log: silentLog,
    });
    const reading = silent.read(spec, arms, new AbortController().signal);
    await clock.advance(6_000);
    expect(await reading).toEqual(new Map());
  });
});
