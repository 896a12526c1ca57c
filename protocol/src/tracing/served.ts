import { incoming, newSpanId, within, type FinishedSpan, type SpanSink, type WorkIds } from './scope.ts';
import { spansOf } from './ring.ts';
import type { TraceContext } from './trace.ts';

/** Header of an answer with the span of a part that may reach no receiver: the caller hands it on. */
export const spanHeader = 'agentfleet-span';

/** What of a served request its span names: no query and no body. */
export interface ServedFacts {
  readonly method: string;
  /** As registered, so that paths of files are in no span. */
  readonly route: string;
  readonly status: number;
}

/** A request that is being served: what it logs has the ids that its headers name, and its span is below the caller's. */
export class ServedRequest {
  readonly #ids: WorkIds;
  readonly #trace: TraceContext | undefined;
  readonly #parent: TraceContext | undefined;
  readonly #sink: SpanSink | undefined;
  readonly #now: () => number;
  readonly #startMs: number;

  /** @param sink takes the spans below this one; absent: there are none */
  constructor(headers: Parameters<typeof incoming>[0], now: () => number, sink?: SpanSink) {
    const { ids, trace } = incoming(headers);
    this.#ids = ids;
    this.#parent = trace;
    this.#trace = trace && { ...trace, spanId: newSpanId() };
    this.#sink = sink;
    this.#now = now;
    this.#startMs = now();
  }

  run<T>(body: () => T): T {
    return within(this.#ids, this.#trace, this.#sink, body);
  }

  /** Its span, as it ends now; undefined: its trace is not sampled. */
  finished({ method, route, status }: ServedFacts): FinishedSpan | undefined {
    if (this.#trace === undefined || this.#parent?.sampled !== true) return undefined;
    const { traceId, spanId } = this.#trace;
    return {
      traceId,
      spanId,
      parentSpanId: this.#parent.spanId,
      name: `${method} ${route}`,
      kind: 'Server',
      startMs: this.#startMs,
      endMs: this.#now(),
      attributes: { 'http.request.method': method, 'http.route': route, 'http.response.status_code': status },
      ...(status >= 500 && { errorType: String(status) }),
    };
  }
}

export function spanToHeader(span: FinishedSpan): string {
  return encodeURIComponent(JSON.stringify(span));
}

const longestHeader = 4096;

/** The span of an answer's header, if it belongs to the trace. */
export function spanOfHeader(value: string | readonly string[] | undefined, traceId: string): readonly FinishedSpan[] {
  if (typeof value !== 'string' || value.length > longestHeader) return [];
  try {
    return spansOf({ spans: [JSON.parse(decodeURIComponent(value))] }, traceId);
  } catch {
    return [];
  }
}
