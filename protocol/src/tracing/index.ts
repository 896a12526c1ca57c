/**
 * Traces of tasks across the parts of the fleet, and the ids of what runs now for lines of logs. Spans are plain data; OpenTelemetry is
 * behind `exporter.ts`, which nothing imports: it is loaded where traces are on. Imports `environment.ts` alone.
 */
export { ask, tool, agent, ServedRequest, spanHeader, spanOfHeader, spanToHeader } from './served.ts';
export {
  SpanRing,
  spansOf,
  ambientIds,
  beginSpan,
  errorTypeOf,
  handOn,
  incoming,
  inSpan,
  isRecorded,
  newSpanId,
  outgoingHeaders,
  within,
  type Attributes,
  type FinishedSpan,
  type Span,
  type SpanSink,
  type WorkIds,
  formatTraceparent,
  parseTraceparent,
  traceOfTask,
  traceparentAnnotation,
  type TaskTrace,
  type TraceContext,
} from './scope.ts';
export {
  noTracing,
  openTracing,
  parseEndpoint,
  parseRatio,
  readTracing,
  tracingEnvironment,
  withinTask,
  type TracedProcess,
  type Tracing,
  type TracingConfig,
} from './tracing.ts';
