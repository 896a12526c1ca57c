// protocol, tracing: spans of served requests, and attributes for generative AI. May import environment alone.
import {
  incoming,
  newSpanId,
  within,
  type FinishedSpan,
  type SpanSink,
  type WorkIds,
  type Attributes,
  type TraceContext,
  spansOf,
} from './scope.ts';

/**
 * Attributes of OpenTelemetry's semantic conventions for generative AI. Texts of prompts, answers, arguments and results have names there
 * too; none of them is set.
 */

/** An answer of a model, on the span of who asks the provider. */
export interface AskFacts {
  readonly provider: string;
  readonly model: string;
  readonly host?: string;
  readonly maxTokens?: number | undefined;
  readonly conversation?: string | undefined;
}

/** Facts that the provider reported. */
export interface AnswerFacts {
  readonly model?: string | undefined;
  readonly finishReasons: readonly string[];
  readonly inputTokens: number;
  readonly outputTokens: number;
  readonly cachedTokens: number;
}

export const ask = {
  name: (model: string): string => `chat ${model}`,
  request: ({ provider, model, host, maxTokens, conversation }: AskFacts): Attributes => ({
    'gen_ai.operation.name': 'chat',
    'gen_ai.provider.name': provider,
    'gen_ai.request.model': model,
    'gen_ai.request.max_tokens': maxTokens,
    'gen_ai.conversation.id': conversation,
    'server.address': host,
  }),
  answer: ({ model, finishReasons, inputTokens, outputTokens, cachedTokens }: AnswerFacts): Attributes => ({
    'gen_ai.response.model': model,
    'gen_ai.response.finish_reasons': finishReasons,
    'gen_ai.usage.input_tokens': inputTokens,
    'gen_ai.usage.output_tokens': outputTokens,
    'gen_ai.usage.cache_read.input_tokens': cachedTokens,
  }),
} as const;

/** A call of a tool. */
export const tool = {
  name: (name: string): string => `execute_tool ${name}`,
  request: (name: string, callId?: string): Attributes => ({
    'gen_ai.operation.name': 'execute_tool',
    'gen_ai.tool.name': name,
    'gen_ai.tool.type': 'function',
    'gen_ai.tool.call.id': callId,
  }),
} as const;

/** An attempt at a task. */
export const agent = {
  name: (pool: string): string => `invoke_agent ${pool}`,
  request: (pool: string, conversation: string): Attributes => ({
    'gen_ai.operation.name': 'invoke_agent',
    'gen_ai.agent.name': pool,
    'gen_ai.conversation.id': conversation,
  }),
} as const;

/** Header of an answer with the span of a part that may reach no receiver: the caller hands it on. */
export const spanHeader = 'agentfleet-span';

/** Facts of a served request that its span names: no query and no body. */
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
