import { silentLog, systemClock } from '@agentfleet/kube';
import { labels } from '@agentfleet/protocol/pool';
import { Gauge, Histogram, Registry } from 'prom-client';
import { expect, it, test } from 'vitest';
import type { Pod } from '../runtime/resources.ts';
import { latencyOf, LatencyReader, lookMs } from './latency.ts';

const never = new AbortController().signal;

/** A pod that is ready, and the histogram that it counts in. */
function server(component: 'expert' | 'gateway', name: string, expert?: string) {
  const registry = new Registry();
  const [prefix, label] = component === 'gateway' ? (['gateway', 'model'] as const) : (['inference', 'capability'] as const);
  const seconds = new Histogram({
    name: `agentfleet_${prefix}_request_seconds`,
    help: 'h',
    labelNames: [label],
    buckets: [0.1, 0.2, 1, 2],
    registers: [registry],
  });
  const own = { [labels.component]: component, ...(expert !== undefined && { [labels.expert]: expert }) };
  const status = { podIP: name, conditions: [{ type: 'Ready', status: 'True' }] };
  const pod: Pod = { metadata: { name, uid: name, namespace: 'platform', labels: own }, status };
  const observe = (value: string, times: readonly number[]): void => times.forEach((time) => seconds.observe({ [label]: value }, time));
  const last = new Gauge({
    name: 'agentfleet_gateway_last_answer_timestamp_seconds',
    help: 'h',
    labelNames: ['model', 'result'],
    registers: [registry],
  });
  const ended = (model: string, result: string, at: number): void => last.set({ model, result }, at);
  return { pod, observe, ended, registry };
}

/** A reader whose time the test moves, and whom it asked. */
function bed(servers: readonly ReturnType<typeof server>[]) {
  let now = 0;
  const asked: string[] = [];
  const answer = (kind: string) => async (origin: string) => {
    asked.push(`${kind} ${origin}`);
    const found = servers.find(({ pod }) => new URL(origin).hostname === pod.metadata.name);
    if (found === undefined) throw new Error('nobody answers');
    return found.registry.metrics();
  };
  const clock = { ...systemClock, monotonic: () => now };
  const reader = new LatencyReader({ expert: answer('expert'), gateway: answer('gateway'), clock, log: silentLog });
  const pods = servers.map(({ pod }) => pod);
  return {
    read: (running = true) => reader.read(pods, running, never),
    faults: () => reader.faults(pods),
    asked,
    pass: (ms: number) => (now += ms),
  };
}

it('reports what came in the last five minutes, of models behind a gateway and of experts with pods', async () => {
  const gateway = server('gateway', 'gateway');
  const search = server('expert', 'search-0', 'search');
  const more = server('expert', 'search-1', 'search');
  // It is asked through the gateway, which waits for it.
  const core = server('expert', 'core-0', 'core');
  gateway.observe('chat', [1.5, 1.5]);
  const { read, asked, pass } = bed([gateway, search, more, core]);
  expect(await bed([search, more, core]).read(false)).toBeUndefined();
  // A gateway of which nothing is known may know of a model that is refused.
  expect(await read(false)).toEqual(new Map());
  expect(await read()).toEqual(new Map());
  expect(asked.sort()).toEqual([
    'expert http://core-0:7080',
    'expert http://search-0:7080',
    'expert http://search-1:7080',
    'gateway http://gateway:8090',
  ]);
  gateway.observe('chat', Array<number>(10).fill(0.15));
  gateway.observe('core', [0.5]);
  core.observe('Generate', [0.05]);
  search.observe('Generate', Array<number>(9).fill(0.05));
  more.observe('Generate', [1.5]);
  pass(lookMs - 1);
  expect(await read()).toEqual(new Map());
  expect(asked).toHaveLength(4);
  pass(1);
  const found = new Map([
    ['search', { p50Ms: 56, p95Ms: 1500 }],
    ['chat', { p50Ms: 150, p95Ms: 200 }],
    ['core', { p50Ms: 600, p95Ms: 960 }],
  ]);
  expect(await read()).toEqual(found);
  expect(await read()).toEqual(found);
  expect(asked).toHaveLength(8);
  // The window slides past them.
  expect(await read(false)).toEqual(found);
  for (let turn = 0; turn < 11; turn += 1) {
    pass(lookMs);
    await read();
  }
  expect(await read()).toEqual(new Map());
  const count = asked.length;
  pass(lookMs);
  expect(await read(false)).toBeUndefined();
  expect(asked).toHaveLength(count);
});

it('looks once more after tasks that ended before the second look', async () => {
  const gateway = server('gateway', 'gateway');
  const { read, pass } = bed([gateway]);
  await read();
  gateway.observe('chat', [0.15]);
  pass(lookMs);
  expect((await read(false))?.get('chat')).toEqual({ p50Ms: 150, p95Ms: 200 });
});

it('knows models whose newest request failed by a fault, and looks until one succeeds', async () => {
  const [one, other] = [server('gateway', 'one'), server('gateway', 'other')];
  const servers = [one, other];
  const { read, faults, pass } = bed(servers);
  one.ended('chat', 'CredentialRefused', 100);
  other.ended('chat', 'ok', 99);
  other.ended('slow', 'RateLimited', 99);
  await read();
  expect(faults()).toEqual(new Map(Object.entries({ chat: 'CredentialRefused', slow: null })));
  for (let turn = 0; turn < 20; turn += 1) {
    pass(lookMs);
    expect(await read(false)).toBeDefined();
  }
  servers.pop();
  pass(lookMs);
  await read(false);
  expect(faults().get('chat')).toBe('CredentialRefused');
  servers.push(other);
  other.ended('chat', 'ok', 101);
  pass(lookMs);
  await read(false);
  expect(faults()).toEqual(new Map(Object.entries({ chat: null, slow: null })));
});

it('goes on after counts began again, and after a pod that did not answer', async () => {
  const gateway = server('gateway', 'gateway');
  const servers = [gateway];
  const { read, pass } = bed(servers);
  gateway.observe('chat', [0.15, 0.15]);
  await read();
  gateway.registry.resetMetrics();
  gateway.observe('chat', [1.5]);
  pass(lookMs);
  expect((await read())?.get('chat')).toEqual({ p50Ms: 1500, p95Ms: 2000 });
  servers.pop();
  pass(lookMs);
  expect((await read())?.get('chat')).toEqual({ p50Ms: 1500, p95Ms: 2000 });
});

test.each([
  ['nothing', [], undefined],
  [
    'no answers',
    [
      [1, 0],
      [Infinity, 0],
    ],
    undefined,
  ],
  [
    'one beyond all bounds, at the last of them',
    [
      [1, 0],
      [Infinity, 1],
    ],
    { p50Ms: 1000, p95Ms: 1000 },
  ],
  [
    'less than a millisecond',
    [
      [0.001, 4],
      [Infinity, 4],
    ],
    { p50Ms: 1, p95Ms: 1 },
  ],
  [
    'a few milliseconds, in whole ones',
    [
      [0.005, 4],
      [Infinity, 4],
    ],
    { p50Ms: 3, p95Ms: 5 },
  ],
  [
    'two digits',
    [
      [10, 0],
      [20, 8],
      [Infinity, 8],
    ],
    { p50Ms: 15_000, p95Ms: 20_000 },
  ],
] as const)('of %s', (_, buckets, expected) => {
  expect(latencyOf(new Map(buckets))).toEqual(expected);
});
