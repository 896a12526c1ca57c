// protocol, tracing: trace context, spans and ids of the work in progress. May import environment alone.
import { AsyncLocalStorage } from 'node:async_hooks';
import { randomBytes, createHash } from 'node:crypto';

/** Place of a span: the part of W3C Trace Context that the fleet uses. */
export interface TraceContext {
  /** 32 hexadecimal digits. */
  readonly traceId: string;
  /** 16 hexadecimal digits. */
  readonly spanId: string;
  /** Whether spans of this trace are exported. */
  readonly sampled: boolean;
}

/** Annotation of a task with a W3C `traceparent`: its trace continues the one of who applied it. */
export const traceparentAnnotation = 'agentfleet.dev/traceparent';

/** Reads a W3C `traceparent`; undefined for what is none, as the standard asks. */
export function parseTraceparent(text: string | undefined): TraceContext | undefined {
  const [, version = '', traceId = '', spanId = '', flags = '', more] =
    /^([0-9a-f]{2})-([0-9a-f]{32})-([0-9a-f]{16})-([0-9a-f]{2})(-.*)?$/.exec(text ?? '') ?? [];
  const known = version !== '' && version !== 'ff' && (version !== '00' || more === undefined);
  if (!known || /^0+$/.test(traceId) || /^0+$/.test(spanId)) return undefined;
  return { traceId, spanId, sampled: (Number.parseInt(flags, 16) & 1) === 1 };
}

export function formatTraceparent({ traceId, spanId, sampled }: TraceContext): string {
  return `00-${traceId}-${spanId}-${sampled ? '01' : '00'}`;
}

/** Members of a task from which its trace is made. */
export interface TracedTask {
  readonly metadata: {
    readonly name: string;
    readonly namespace?: string;
    readonly uid?: string;
    readonly annotations?: Readonly<Record<string, string>>;
  };
}

/** The span of a whole task, and the one of its applier that it belongs to. */
export interface TaskTrace {
  readonly root: TraceContext;
  readonly parent?: TraceContext;
}

const sha256 = (text: string): string => createHash('sha256').update(text).digest('hex');

/**
 * The trace of a task: that of its annotation, else one whose id is the task's uid without hyphens. So all parts agree on it without
 * a write, and also after a restart. Pure.
 *
 * @param ratio share of the tasks without an annotation that are sampled, 0 to 1
 */
export function traceOfTask(
  { metadata: { name, namespace = '', uid = `${namespace}/${name}`, annotations } }: TracedTask,
  ratio = 1,
): TaskTrace {
  const spanId = sha256(`${uid} task`).slice(0, 16);
  const parent = parseTraceparent(annotations?.[traceparentAnnotation]);
  if (parent !== undefined) return { root: { ...parent, spanId }, parent };
  const plain = uid.replaceAll('-', '').toLowerCase();
  const traceId = /^[0-9a-f]{32}$/.test(plain) && !/^0+$/.test(plain) ? plain : sha256(uid).slice(0, 32);
  // The last digits of a uid are random.
  return { root: { traceId, spanId, sampled: Number.parseInt(traceId.slice(-12), 16) / 16 ** 12 < ratio } };
}

/** Ids of the work that lines of a log and requests to other parts are about. */
export interface WorkIds {
  /** `namespace/name` of the task. */
  readonly task?: string;
  readonly namespace?: string;
  readonly attempt?: number;
  readonly epoch?: number;
}

export type SpanKind = 'Internal' | 'Server' | 'Client';
export type AttributeValue = string | number | boolean | readonly string[];
export type Attributes = Readonly<Record<string, AttributeValue | undefined>>;

/** A span that has ended, as plain data: what leaves a process, or a keeper, which has no network. Times are ms since 1970. */
export interface FinishedSpan {
  readonly traceId: string;
  readonly spanId: string;
  readonly parentSpanId?: string;
  readonly name: string;
  readonly kind: SpanKind;
  readonly startMs: number;
  readonly endMs: number;
  readonly attributes: Attributes;
  /** Name or code of what failed; its words may quote files and stay in the log. */
  readonly errorType?: string;
}

/** Takes spans that have ended. */
export interface SpanSink {
  readonly now: () => number;
  readonly record: (span: FinishedSpan) => void;
  /** Hands on spans of a part that reaches no receiver. */
  readonly forward?: (service: string, spans: readonly FinishedSpan[]) => void;
}

/** A span that is open. Ending it twice changes nothing. */
export interface Span {
  set(attributes: Attributes): void;
  fail(error: unknown): void;
  end(): void;
}

interface Scope {
  readonly ids: WorkIds;
  readonly trace?: TraceContext;
  /** Absent: nothing is recorded. */
  readonly sink?: SpanSink;
}

/** Work of the code that runs now. It follows promises and callbacks; there is none outside of {@link within}. */
const scopes = new AsyncLocalStorage<Scope>();

const closed: Span = { set: () => {}, fail: () => {}, end: () => {} };

/** Runs `body` for a task: lines of logs, requests and spans that it makes belong to it. */
export function within<T>(ids: WorkIds, trace: TraceContext | undefined, sink: SpanSink | undefined, body: () => T): T {
  return scopes.run({ ids, ...(trace !== undefined && { trace }), ...(sink !== undefined && { sink }) }, body);
}

/** The ids of what runs now, for a line of a log. */
export function ambientIds(): Readonly<Record<string, unknown>> {
  const scope = scopes.getStore();
  if (scope === undefined) return {};
  return { ...scope.ids, ...(scope.trace !== undefined && { trace: scope.trace.traceId }) };
}

const taskMember = 'agentfleet.task';
const attemptMember = 'agentfleet.attempt';
const epochMember = 'agentfleet.epoch';

/** W3C headers of a request that this scope makes: `traceparent`, and ids of the task as `baggage`. */
export function outgoingHeaders(): Readonly<Record<string, string>> {
  const { ids, trace } = scopes.getStore() ?? {};
  if (trace === undefined) return {};
  const members = [
    ...(ids?.task === undefined ? [] : [`${taskMember}=${encodeURIComponent(ids.task)}`]),
    ...(ids?.attempt === undefined ? [] : [`${attemptMember}=${ids.attempt}`]),
    ...(ids?.epoch === undefined ? [] : [`${epochMember}=${ids.epoch}`]),
  ];
  return { traceparent: formatTraceparent(trace), ...(members.length > 0 && { baggage: members.join(',') }) };
}

type Headers = Readonly<Record<string, string | readonly string[] | undefined>>;

const longestBaggage = 1024;

/** The ids and the trace that a request names. What cannot be read is left out: a header refuses no request. */
export function incoming(headers: Headers): { readonly ids: WorkIds; readonly trace: TraceContext | undefined } {
  const text = (name: string): string => (typeof headers[name] === 'string' ? headers[name] : '');
  const baggage = text('baggage').length > longestBaggage ? '' : text('baggage');
  const members = new Map(baggage.split(',').map((member) => member.trim().split('=', 2) as [string, string | undefined]));
  const count = (name: string): number | undefined => {
    const value = members.get(name) ?? '';
    return /^\d{1,9}$/.test(value) ? Number(value) : undefined;
  };
  const [, namespace, name] = /^([a-z0-9-]{1,63})%2F([a-z0-9.-]{1,253})$/.exec(members.get(taskMember) ?? '') ?? [];
  const [attempt, epoch] = [count(attemptMember), count(epochMember)];
  const ids = {
    ...(namespace !== undefined && name !== undefined && { task: `${namespace}/${name}`, namespace }),
    ...(attempt !== undefined && { attempt }),
    ...(epoch !== undefined && { epoch }),
  };
  return { ids, trace: parseTraceparent(text('traceparent')) };
}

/** Hands on the spans of another part that belong to the trace of this scope. */
export function handOn(service: string, read: (traceId: string) => readonly FinishedSpan[]): void {
  const { trace, sink } = scopes.getStore() ?? {};
  if (trace?.sampled === true && sink?.forward !== undefined) sink.forward(service, read(trace.traceId));
}

/** Id of the sampled trace that what runs now is in, here or at who asked for it; undefined: there is none. */
export function sampledTrace(): string | undefined {
  const { trace } = scopes.getStore() ?? {};
  return trace?.sampled === true ? trace.traceId : undefined;
}

/** Reports whether the code that runs now is recorded. */
export function isRecorded(): boolean {
  return scopes.getStore()?.sink !== undefined && sampledTrace() !== undefined;
}

/** Options with which a span is begun. */
export interface SpanOptions {
  readonly kind?: SpanKind;
  readonly attributes?: Attributes;
}

/** Opens a span below that of this scope, which its opener ends; it is no span's parent. */
export function beginSpan(name: string, options: SpanOptions = {}): Span {
  return open(scopes.getStore(), name, options)?.span ?? closed;
}

/** Runs `body` in a span below that of this scope. Without a trace that is sampled it only runs it. */
export async function inSpan<T>(name: string, options: SpanOptions, body: (span: Span) => Promise<T>): Promise<T> {
  const scope = scopes.getStore();
  const opened = open(scope, name, options);
  if (scope === undefined || opened === undefined) return body(closed);
  const { span, trace } = opened;
  try {
    return await scopes.run({ ...scope, trace }, () => body(span));
  } catch (error) {
    span.fail(error);
    throw error;
  } finally {
    span.end();
  }
}

/** A new id of a span. */
export function newSpanId(): string {
  return randomBytes(8).toString('hex');
}

function open(scope: Scope | undefined, name: string, { kind = 'Internal', attributes = {} }: SpanOptions): Opened | undefined {
  const { trace: parent, sink } = scope ?? {};
  if (sink === undefined || parent?.sampled !== true) return undefined;
  const trace = { ...parent, spanId: newSpanId() };
  const startMs = sink.now();
  let [known, errorType, ended]: [Attributes, string | undefined, boolean] = [attributes, undefined, false];
  const end = (): void => {
    if (ended) return;
    ended = true;
    const { traceId, spanId } = trace;
    const own = { traceId, spanId, parentSpanId: parent.spanId, name, kind, startMs, endMs: sink.now(), attributes: known };
    sink.record({ ...own, ...(errorType !== undefined && { errorType }) });
  };
  const set = (more: Attributes): void => {
    known = { ...known, ...more };
  };
  const fail = (error: unknown): void => {
    errorType = errorTypeOf(error);
  };
  return { trace, span: { set, fail, end } };
}

interface Opened {
  readonly trace: TraceContext;
  readonly span: Span;
}

/** A name of few values for a failure: its reason or code, else its class. */
export function errorTypeOf(error: unknown): string {
  if (!(error instanceof Error)) return typeof error === 'string' && /^\w{1,40}$/.test(error) ? error : 'Unknown';
  const { reason, code } = error as { readonly reason?: unknown; readonly code?: unknown };
  const named = [reason, code].find((one) => typeof one === 'string' && /^\w{1,64}$/.test(one));
  return typeof named === 'string' ? named : error.name;
}

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
