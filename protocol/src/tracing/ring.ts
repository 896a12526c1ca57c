// protocol, tracing: bounded buffer of spans until another part fetches them. May import environment alone.
import type { FinishedSpan, SpanSink } from './scope.ts';

/** Spans of a part that reaches no receiver, until they are fetched. The oldest give way. */
export class SpanRing implements SpanSink {
  readonly now: () => number;
  readonly #most: number;
  #spans: FinishedSpan[] = [];

  constructor(now: () => number, most = 1000) {
    this.now = now;
    this.#most = most;
  }

  record = (span: FinishedSpan): void => {
    this.#spans.push(span);
    if (this.#spans.length > this.#most) this.#spans.shift();
  };

  /** Takes all out. */
  drain(): readonly FinishedSpan[] {
    const spans = this.#spans;
    this.#spans = [];
    return spans;
  }
}

const id = (value: unknown, digits: number): boolean => typeof value === 'string' && value.length === digits && /^[0-9a-f]+$/.test(value);
const isTime = (value: unknown): boolean => typeof value === 'number' && Number.isFinite(value) && value > 0;
const kinds: ReadonlySet<unknown> = new Set(['Internal', 'Server', 'Client']);

/** The spans of an answer that belong to a trace; what has another form, or is of another trace, is left out. */
export function spansOf(answer: unknown, traceId: string): readonly FinishedSpan[] {
  const { spans } = (answer ?? {}) as { readonly spans?: unknown };
  return Array.isArray(spans) ? spans.filter((span: unknown): span is FinishedSpan => isSpan(span, traceId)) : [];
}

function isSpan(value: unknown, traceId: string): boolean {
  const span = (value ?? {}) as Partial<FinishedSpan>;
  const named = typeof span.name === 'string' && span.name.length <= 200 && kinds.has(span.kind);
  const placed = span.traceId === traceId && id(span.spanId, 16) && id(span.parentSpanId, 16);
  const timed = isTime(span.startMs) && isTime(span.endMs);
  const plain = typeof span.attributes === 'object' && span.attributes !== null && Object.values(span.attributes).every(isPlain);
  return named && placed && timed && plain && (span.errorType === undefined || typeof span.errorType === 'string');
}

function isPlain(value: unknown): boolean {
  return typeof value === 'number' || typeof value === 'boolean' || (typeof value === 'string' && value.length <= 1000);
}
