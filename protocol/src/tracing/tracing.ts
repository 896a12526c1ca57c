import type { Read } from '../environment.ts';
import { within, type SpanSink, traceOfTask, type TaskTrace, type TracedTask } from './scope.ts';

/** Variables for the target of spans. Their names are OpenTelemetry's own, so that those for headers and certificates hold too. */
export const tracingEnvironment = {
  /** Base of an OTLP/HTTP receiver; `/v1/traces` is added. Without it nothing is traced. */
  endpoint: 'OTEL_EXPORTER_OTLP_ENDPOINT',
  /** Share of the tasks that are traced, 0 to 1. */
  sampleRatio: 'OTEL_TRACES_SAMPLER_ARG',
} as const;

export interface TracingConfig {
  readonly endpoint: string;
  readonly sampleRatio: number;
}

/** Reads where spans go; null: nowhere. */
export function readTracing(read: Read): TracingConfig | null {
  const endpoint = read(tracingEnvironment.endpoint, parseEndpoint, '');
  const sampleRatio = read(tracingEnvironment.sampleRatio, parseRatio, 1);
  return endpoint === '' ? null : { endpoint, sampleRatio };
}

/** @throws Error for what is no base of an OTLP/HTTP receiver */
export function parseEndpoint(value: string): string {
  const protocol = URL.canParse(value) ? new URL(value).protocol : '';
  if (protocol === 'http:' || protocol === 'https:') return value.replace(/\/+$/, '');
  throw new Error(`"${value}" is no address; write that of an OTLP/HTTP receiver, for example http://collector.monitoring.svc:4318`);
}

/** @throws Error for what is no share */
export function parseRatio(value: string): number {
  const ratio = Number(value);
  if (/^\d*\.?\d+$/.test(value) && ratio <= 1) return ratio;
  throw new Error(`"${value}" is no share; write a number from 0 to 1`);
}

/** Facts that spans of a process have in common. */
export interface TracedProcess {
  /** `service.name`. */
  readonly service: string;
  readonly version: string;
  /** Name of the pod. */
  readonly instance?: string;
}

/** The traces of a process. */
export interface Tracing {
  readonly sampleRatio: number;
  /** Absent: nothing is traced. */
  readonly sink?: SpanSink;
  /** Sends what is left, for a few seconds at most. */
  close(): Promise<void>;
}

export const noTracing: Tracing = { sampleRatio: 0, close: () => Promise.resolve() };

/** Exports of the exporter's file. */
export interface ExporterLibrary {
  openExporter(config: TracingConfig, process: TracedProcess, now: () => number): Tracing;
}

/** Opens the traces of a process. OpenTelemetry is loaded only where something is traced. */
export async function openTracing(config: TracingConfig | null, process: TracedProcess, now: () => number = Date.now): Promise<Tracing> {
  if (config === null) return noTracing;
  const file = import.meta.url.endsWith('.ts') ? './exporter.ts' : './otlp.js';
  // Not a literal, which the bundler would take in: images have it as a file of its own.
  const library = (await import(/* @vite-ignore */ new URL(file, import.meta.url).href)) as ExporterLibrary;
  return library.openExporter(config, process, now);
}

/** Runs `body` for an attempt at a task: what it logs has the ids, and its spans belong to the task's trace. */
export function withinTask<T>(
  task: TracedTask,
  { attempt, epoch }: { readonly attempt?: number; readonly epoch?: number },
  tracing: Pick<Tracing, 'sampleRatio' | 'sink'>,
  body: (trace: TaskTrace) => T,
): T {
  const { name, namespace = '' } = task.metadata;
  const trace = traceOfTask(task, tracing.sampleRatio);
  const ids = { task: `${namespace}/${name}`, namespace, ...(attempt !== undefined && { attempt }), ...(epoch !== undefined && { epoch }) };
  return within(ids, trace.root, tracing.sink, () => body(trace));
}
