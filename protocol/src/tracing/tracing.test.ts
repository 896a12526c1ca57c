import { describe, expect, test } from 'vitest';
import { ConfigError, reader } from '../environment.ts';
import {
  ambientIds,
  beginSpan,
  formatTraceparent,
  incoming,
  inSpan,
  noTracing,
  outgoingHeaders,
  parseTraceparent,
  readTracing,
  ServedRequest,
  spanOfHeader,
  SpanRing,
  spansOf,
  spanToHeader,
  traceOfTask,
  withinTask,
  type FinishedSpan,
} from './index.ts';

const uid = '0b6e2ad4-93a1-4c6e-8f0a-5a1f6f2c7d11';
const traceId = uid.replaceAll('-', '');
const task = { metadata: { name: 'fix', namespace: 'demo', uid } };
const given = `00-${'a'.repeat(32)}-${'b'.repeat(16)}-01`;

describe('a traceparent', () => {
  test.each([
    [given, true],
    [given.replace(/01$/, '00'), false],
  ])('%s is read and written', (text, sampled) => {
    const read = parseTraceparent(text);
    expect(read).toEqual({ traceId: 'a'.repeat(32), spanId: 'b'.repeat(16), sampled });
    expect(read && formatTraceparent(read)).toBe(text);
  });

  test.each([
    '',
    'x',
    `${given}-more`,
    given.replace(/^00/, 'ff'),
    given.replaceAll('a', '0'),
    given.replaceAll('b', '0'),
    given.toUpperCase(),
  ])('%j is none', (text) => expect(parseTraceparent(text)).toBeUndefined());
});

describe('the trace of a task', () => {
  test('is its uid, for whoever asks; the ratio decides by it', () => {
    expect(traceOfTask(task).root).toMatchObject({ traceId, sampled: true });
    expect(traceOfTask(task)).toEqual(traceOfTask(structuredClone(task)));
    const many = Array.from({ length: 400 }, (_, n) => traceOfTask({ metadata: { name: `t${n}` } }, 0.25).root.sampled);
    expect(many.filter(Boolean).length).toBeGreaterThan(60);
    expect(many.filter(Boolean).length).toBeLessThan(140);
  });

  test('continues the one of its annotation, also where nothing would be sampled', () => {
    const annotated = { metadata: { ...task.metadata, annotations: { 'agentfleet.dev/traceparent': given } } };
    const { root, parent } = traceOfTask(annotated, 0);
    expect([root.traceId, root.sampled, parent?.spanId]).toEqual(['a'.repeat(32), true, 'b'.repeat(16)]);
  });
});

function sinkOf(): { readonly spans: FinishedSpan[]; readonly sink: { now: () => number; record: (span: FinishedSpan) => void } } {
  const spans: FinishedSpan[] = [];
  let ms = 1;
  return { spans, sink: { now: () => (ms += 1), record: (span) => spans.push(span) } };
}

describe('what runs for a task', () => {
  test('has its ids and hands them on; another part reads the same', () => {
    const [ids, headers] = withinTask(task, { attempt: 2, epoch: 3 }, noTracing, () => [ambientIds(), outgoingHeaders()]);
    expect(ids).toEqual({ task: 'demo/fix', namespace: 'demo', attempt: 2, epoch: 3, trace: traceId });
    const { ids: read, trace } = incoming(headers);
    expect([read, trace?.traceId]).toEqual([{ task: 'demo/fix', namespace: 'demo', attempt: 2, epoch: 3 }, traceId]);
    expect([ambientIds(), outgoingHeaders()]).toEqual([{}, {}]);
  });

  test('is in spans below each other; a failure has its code and none of its words', async () => {
    const { spans, sink } = sinkOf();
    await withinTask(task, {}, { sampleRatio: 1, sink }, () =>
      inSpan('outer', {}, async (outer) => {
        outer.set({ steps: 2 });
        beginSpan('side').end();
        await inSpan('inner', {}, () => Promise.reject(Object.assign(new Error('a secret'), { code: 'AF_BUSY' }))).catch(() => undefined);
      }),
    );
    const [side, inner, outer] = spans;
    expect(spans.map(({ name }) => name)).toEqual(['side', 'inner', 'outer']);
    expect([side?.parentSpanId, inner?.parentSpanId]).toEqual([outer?.spanId, outer?.spanId]);
    expect([outer?.parentSpanId, outer?.attributes, inner?.errorType]).toEqual([traceOfTask(task).root.spanId, { steps: 2 }, 'AF_BUSY']);
    expect(JSON.stringify(spans)).not.toContain('secret');
  });

  test('is not recorded where its trace is not sampled', async () => {
    const { spans, sink } = sinkOf();
    await withinTask(task, {}, { sampleRatio: 0, sink }, () => inSpan('outer', {}, () => Promise.resolve()));
    expect(spans).toEqual([]);
  });
});

describe('a part that reaches no receiver', () => {
  const headers = withinTask(task, {}, { sampleRatio: 1 }, outgoingHeaders);
  const served = (from: Readonly<Record<string, string>> = headers): FinishedSpan | undefined =>
    new ServedRequest(from, () => 5).finished({ method: 'POST', route: '/v1/exec', status: 500 });

  test('gives the span of a request to who asked, in a header', () => {
    const span = served();
    expect(span).toMatchObject({ traceId, name: 'POST /v1/exec', kind: 'Server', errorType: '500' });
    expect(spanOfHeader(span && spanToHeader(span), traceId)).toEqual([span]);
    expect([spanOfHeader(span && spanToHeader(span), 'f'.repeat(32)), spanOfHeader('%%%', traceId), served({})]).toEqual([
      [],
      [],
      undefined,
    ]);
  });

  test('keeps the newest until they are fetched; what has another form is left out', () => {
    const ring = new SpanRing(() => 5, 2);
    const spans = [served(), served(), served()].filter((span) => span !== undefined);
    spans.forEach(ring.record);
    expect([ring.drain(), ring.drain()]).toEqual([spans.slice(1), []]);
    const [good] = spans as [FinishedSpan];
    const wrong = [
      null,
      1,
      { ...good, spanId: 'x' },
      { ...good, attributes: { a: {} } },
      { ...good, startMs: 'now' },
      { ...good, kind: 'Odd' },
    ];
    expect(spansOf({ spans: [...wrong, good] }, traceId)).toEqual([good]);
    expect(spansOf('nothing', traceId)).toEqual([]);
  });
});

test.each([
  [{ OTEL_EXPORTER_OTLP_ENDPOINT: 'collector:4318' }, /OTEL_EXPORTER_OTLP_ENDPOINT.*http:\/\//],
  [{ OTEL_EXPORTER_OTLP_ENDPOINT: 'http://c:4318/', OTEL_TRACES_SAMPLER_ARG: '2' }, /OTEL_TRACES_SAMPLER_ARG.*0 to 1/],
  [
    { OTEL_EXPORTER_OTLP_ENDPOINT: 'http://c:4318/', OTEL_TRACES_SAMPLER_ARG: '0.1' },
    { endpoint: 'http://c:4318', sampleRatio: 0.1 },
  ],
  [{}, null],
])('%j is read, or refused with the variable and its cure', (env, expected) => {
  const faults: string[] = [];
  const config = readTracing(reader(env, faults, 'the pod'));
  if (expected instanceof RegExp) expect(new ConfigError(faults).message).toMatch(expected);
  else expect([config, faults]).toEqual([expected, []]);
});
