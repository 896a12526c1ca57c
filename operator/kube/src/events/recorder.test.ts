import { describe, expect, it } from 'vitest';
import { ResourceClient } from '../client/client.ts';
import { silentLog } from '../runtime/log.ts';
import { isKubeError, KubeError } from '../runtime/errors.ts';
import { ApiError } from '../transport/apiError.ts';
import type { KubeObject } from '../api/resource.ts';
import { eventually, testBed, type Bed, type Widget } from '../testing/widget.ts';
import { VirtualClock } from '../testing/virtualClock.ts';
import { cutBytes, events, type KubeEvent, EventRecorder } from './recorder.ts';

const about: Widget = { apiVersion: 'test.example.com/v1', kind: 'Widget', metadata: { name: 'w', namespace: 'default', uid: 'u1' } };
const made = { type: 'Normal', reason: 'Made', action: 'Make', note: 'it was made' } as const;

interface Scene extends AsyncDisposable {
  readonly clock: VirtualClock;
  readonly recorder: EventRecorder;
  readonly stored: () => KubeEvent[];
  readonly written: () => number;
}

function scene(bed: Bed): Scene {
  const clock = new VirtualClock();
  const client = new ResourceClient<KubeEvent>(bed.transport, events);
  const recorder = new EventRecorder({
    client,
    reportingController: 'example.com/test',
    reportingInstance: 'pod',
    clock,
    random: () => 0.5,
    log: silentLog,
  });
  const stop = new AbortController();
  const running = recorder.run(stop.signal);
  const close = async (): Promise<void> => {
    stop.abort();
    await running;
  };
  return {
    clock,
    recorder,
    stored: () => bed.server.objects(events),
    written: () => bed.server.writes.length,
    [Symbol.asyncDispose]: close,
  };
}

describe('EventRecorder', () => {
  it('makes one object of equal events, and writes a long series rarely', async () => {
    await using bed = await testBed();
    await using stage = scene(bed);
    for (let i = 0; i < 50; i += 1) stage.recorder.record(about, made);
    await eventually('two writes', () => stage.written() === 2 && stage.clock.timers === 1);
    expect(stage.stored()).toHaveLength(1);
    expect(stage.stored()[0]).toMatchObject({
      ...made,
      regarding: { name: 'w', uid: 'u1' },
      series: { count: 2 },
      reportingController: 'example.com/test',
    });
    await stage.clock.advance(6 * 60_000);
    await eventually('the end of the series', () => stage.written() === 3);
    expect(stage.stored()[0]?.series?.count).toBe(50);
    stage.recorder.record(about, made);
    await eventually('a new object', () => stage.stored().length === 2);
  });

  it('lets no object flood the server', async () => {
    await using bed = await testBed();
    await using stage = scene(bed);
    for (let i = 0; i < 100; i += 1) stage.recorder.record(about, { ...made, note: `n${i}`, reason: `R${i}` });
    await eventually('the burst', () => stage.recorder.pending === 0 && stage.stored().length === 25);
    await stage.clock.advance(300_000);
    stage.recorder.record(about, { ...made, reason: 'Later' });
    stage.recorder.record(about, { ...made, reason: 'TooMany' });
    await eventually('one more', () => stage.stored().length === 26);
  });

  it('tries again what may pass, drops what never will, and writes the rest at the end', async () => {
    await using bed = await testBed();
    const stage = scene(bed);
    let left = 1;
    bed.server.onRequest = () => (left-- > 0 ? { kind: 'error', code: 500, reason: 'InternalError' } : undefined);
    stage.recorder.record(about, made);
    await eventually('a failure', () => stage.written() === 1 && stage.clock.timers === 1);
    await stage.clock.advance(12_500);
    await eventually('the event', () => stage.stored().length === 1);
    bed.server.onRequest = () => ({ kind: 'error', code: 403, reason: 'Forbidden' });
    stage.recorder.record(about, { ...made, reason: 'Refused' });
    await eventually('the refusal', () => stage.written() === 3);
    bed.server.onRequest = undefined;
    stage.recorder.record(about, { ...made, reason: 'Last' });
    await stage[Symbol.asyncDispose]();
    expect(stage.stored().map((event) => event.reason)).toEqual(['Made', 'Last']);
  });

  it('lets the events of other namespaces go on while those of one are refused as too many', async () => {
    const written: string[] = [];
    let refused = 0;
    const client = {
      create: ({ metadata: { namespace = '' } }: KubeEvent) => {
        if (namespace !== 'noisy') return Promise.resolve(written.push(namespace));
        refused += 1;
        return Promise.reject(new ApiError(429, { reason: 'TooManyRequests', message: 'limit reached', code: 429 }, 'POST events'));
      },
    };
    const clock = new VirtualClock();
    const reporting = { reportingController: 'example.com/test', reportingInstance: 'pod' };
    const recorder = new EventRecorder({ client: client as never, ...reporting, clock, random: () => 0.5, log: silentLog });
    const of = (namespace: string, name: string): KubeObject => ({ ...about, metadata: { ...about.metadata, namespace, name, uid: name } });
    for (let n = 0; n < 20; n += 1) recorder.record(of('noisy', `n${n}`), made);
    recorder.record(of('quiet', 'a'), made);
    const stop = new AbortController();
    const running = recorder.run(stop.signal);
    await eventually('the other one', () => written.length === 1);
    expect(refused).toBe(20);
    for (let n = 0; n < 60; n += 1) {
      await clock.advance(1000);
      await new Promise((resolve) => void setImmediate(resolve));
    }
    expect([refused, recorder.pending]).toEqual([40, 0]);
    for (let n = 0; n < 1500; n += 1) recorder.record(of('noisy', `m${n}`), made);
    recorder.record(of('quiet', 'b'), made);
    expect(recorder.pending).toBe(1000);
    await eventually('the other one, although the queue was full', () => written.length === 2);
    stop.abort();
    await running;
  });

  it('waits with the events of one namespace while its answers are failures, and with all while there is no answer', async () => {
    const failed = new ApiError(500, { reason: 'InternalError', message: 'failed calling webhook', code: 500 }, 'POST events');
    const parts = { what: 'no connection', where: 'POST events', cure: 'Look' };
    const late = new KubeError('AF_API_TIMEOUT', parts);
    const clock = new VirtualClock();
    const tried: string[] = [];
    let error: Error | undefined;
    const create = ({ regarding, metadata: { namespace } }: KubeEvent): Promise<unknown> => {
      tried.push(regarding.name ?? '');
      return error !== undefined && (namespace === 'broken' || isKubeError(error, 'AF_API_UNREACHABLE'))
        ? Promise.reject(error)
        : Promise.resolve();
    };
    const reporting = { reportingController: 'example.com/test', reportingInstance: 'pod' };
    const recorder = new EventRecorder({ client: { create } as never, ...reporting, clock, random: () => 0.5, log: silentLog });
    const record = (namespace: string, name: string): void =>
      recorder.record({ ...about, metadata: { ...about.metadata, namespace, name, uid: name } }, made);
    const stop = new AbortController();
    const running = recorder.run(stop.signal);
    const triedNext = async (ms = 0): Promise<string[]> => {
      await clock.advance(ms);
      return tried.splice(0);
    };
    for (const [round, failure] of [failed, late].entries()) {
      error = failure;
      record('broken', `a${round}`);
      record('broken', `b${round}`);
      record('sound', `c${round}`);
      expect(await triedNext()).toEqual([`a${round}`, `c${round}`]);
      expect(await triedNext(10_000)).toEqual([`a${round}`]);
      error = undefined;
      expect(await triedNext(10_000)).toEqual([`a${round}`, `b${round}`]);
    }
    error = new KubeError('AF_API_UNREACHABLE', parts);
    record('broken', 'd');
    record('sound', 'e');
    expect(await triedNext()).toEqual(['d']);
    error = undefined;
    expect(await triedNext(10_000)).toEqual(['d', 'e']);
    error = failed;
    record('broken', 'f');
    expect(await triedNext(150_000)).toEqual(Array.from({ length: 12 }, () => 'f'));
    expect(recorder.pending).toBe(0);
    stop.abort();
    await running;
  });

  it('cuts notes at a character', () => {
    expect(cutBytes('aé', 2)).toBe('a');
    expect(cutBytes('😀'.repeat(300), 1024)).toBe('😀'.repeat(256));
  });

  it('remembers a bounded number of series, and writes the count of one that has to go', async () => {
    const counts: number[] = [];
    const client = {
      create: () => Promise.resolve({}),
      patch: (_: unknown, { series }: { readonly series: { readonly count: number } }) => Promise.resolve(counts.push(series.count)),
    };
    const recorder = new EventRecorder({
      client: client as unknown as ResourceClient<KubeEvent>,
      reportingController: 'example.com/test',
      reportingInstance: 'pod',
      clock: new VirtualClock(),
      random: () => 0.5,
      log: silentLog,
    });
    const stop = new AbortController();
    const running = recorder.run(stop.signal);
    for (let i = 0; i < 3; i += 1) recorder.record(about, made);
    await eventually('two', () => counts.length === 1);
    for (let i = 0; i < 5000; i += 1) {
      recorder.record({ ...about, metadata: { name: `w${i}`, namespace: 'default', uid: `v${i}` } }, made);
      if (i % 500 === 499) await eventually('an empty queue', () => recorder.pending === 0);
    }
    expect(recorder.series).toBe(4096);
    expect(counts).toEqual([2, 3]);
    stop.abort();
    await running;
  });
});
