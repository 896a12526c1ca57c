// protocol, tracing: export of finished spans by OpenTelemetry (OTLP). May import environment alone.
import { SpanKind as OtelKind, SpanStatusCode, TraceFlags, type HrTime, type SpanContext } from '@opentelemetry/api';
import { OTLPTraceExporter } from '@opentelemetry/exporter-trace-otlp-http';
import { resourceFromAttributes, type Resource } from '@opentelemetry/resources';
import { BatchSpanProcessor, type ReadableSpan } from '@opentelemetry/sdk-trace-base';
import type { FinishedSpan, SpanKind } from './scope.ts';
import type { TracedProcess, Tracing, TracingConfig } from './tracing.ts';

/** Longest that a batch waits, ms. */
const delayMs = 2_000;
/** Longest that the end of a process waits for its last batch, ms. */
const closeMs = 5_000;

const kinds: Readonly<Record<SpanKind, OtelKind>> = { Internal: OtelKind.INTERNAL, Server: OtelKind.SERVER, Client: OtelKind.CLIENT };

function timeOf(ms: number): HrTime {
  const whole = Math.floor(ms / 1000);
  return [whole, Math.round((ms - whole * 1000) * 1e6)];
}

function contextOf(traceId: string, spanId: string): SpanContext {
  return { traceId, spanId, traceFlags: TraceFlags.SAMPLED };
}

function readable(span: FinishedSpan, resource: Resource, version: string): ReadableSpan {
  const { traceId, spanId, parentSpanId, name, kind, startMs, endMs, attributes, errorType } = span;
  const known = Object.entries(attributes).filter(([, value]) => value !== undefined);
  const all = errorType === undefined ? known : [...known, ['error.type', errorType]];
  return {
    name,
    kind: kinds[kind],
    spanContext: () => contextOf(traceId, spanId),
    ...(parentSpanId !== undefined && { parentSpanContext: contextOf(traceId, parentSpanId) }),
    startTime: timeOf(startMs),
    endTime: timeOf(endMs),
    duration: timeOf(Math.max(0, endMs - startMs)),
    status: { code: errorType === undefined ? SpanStatusCode.UNSET : SpanStatusCode.ERROR },
    attributes: Object.fromEntries(all) as ReadableSpan['attributes'],
    links: [],
    events: [],
    ended: true,
    resource,
    instrumentationScope: { name: 'agentfleet', version },
    droppedAttributesCount: 0,
    droppedEventsCount: 0,
    droppedLinksCount: 0,
  };
}

/** Sends spans in batches as OTLP/HTTP with JSON. What the receiver does not take in time is dropped: traces hold up no work. */
export function openExporter({ endpoint, sampleRatio }: TracingConfig, process: TracedProcess, now: () => number): Tracing {
  const { version, instance } = process;
  const exporter = new OTLPTraceExporter({ url: `${endpoint}/v1/traces` });
  const processor = new BatchSpanProcessor(exporter, {
    scheduledDelayMillis: delayMs,
    exportTimeoutMillis: closeMs,
  });
  const resourceOf = (service: string): Resource =>
    resourceFromAttributes({
      'service.name': service,
      'service.namespace': 'agentfleet',
      'service.version': version,
      ...(instance !== undefined && { 'service.instance.id': instance }),
    });
  const own = resourceOf(process.service);
  const record = (span: FinishedSpan, resource = own): void => processor.onEnd(readable(span, resource, version));
  return {
    sampleRatio,
    sink: {
      now,
      record: (span) => record(span),
      forward: (service, spans) => {
        const resource = resourceOf(service);
        for (const span of spans) record(span, resource);
      },
    },
    close: async () => {
      const timer = Promise.withResolvers<void>();
      const late = setTimeout(timer.resolve, closeMs);
      await Promise.race([processor.shutdown().catch(() => undefined), timer.promise]);
      clearTimeout(late);
    },
  };
}
