import { createHash } from 'node:crypto';

/** Where a span is: the part of W3C Trace Context that the fleet uses. */
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

/** What the trace of a task is made from. */
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
