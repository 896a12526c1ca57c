import { registries, type MetricType, type Registered } from '../../hack/generate/registries.ts';
import { readdir, readFile } from 'node:fs/promises';
import { fileURLToPath } from 'node:url';
import { load } from 'js-yaml';

const folder = fileURLToPath(new URL('../../charts/agentfleet/files/monitoring/', import.meta.url));

export interface Rule {
  readonly record?: string;
  readonly alert?: string;
  readonly expr: string;
  readonly for?: string;
  readonly labels?: Readonly<Record<string, string>>;
  readonly annotations?: Readonly<Record<string, string>>;
}

export interface Group {
  readonly name: string;
  readonly rules: readonly Rule[];
}

export interface Panel {
  readonly title: string;
  readonly type: string;
  readonly id: number;
  readonly gridPos: Readonly<Record<'h' | 'w' | 'x' | 'y', number>>;
  readonly targets?: readonly { readonly expr: string; readonly legendFormat: string; readonly datasource: object }[];
}

export interface Dashboard {
  readonly uid: string;
  readonly title: string;
  readonly panels: readonly Panel[];
  readonly templating: { readonly list: readonly { readonly name: string; readonly type: string; readonly query: unknown }[] };
  readonly annotations: { readonly list: readonly { readonly expr: string; readonly titleFormat: string }[] };
}

async function files(part: string): Promise<readonly { readonly name: string; readonly text: string }[]> {
  const names = (await readdir(folder + part)).sort();
  return Promise.all(names.map(async (name) => ({ name, text: await readFile(`${folder}${part}/${name}`, 'utf8') })));
}

/** Groups of rules by file, as the chart ships them. */
export async function ruleGroups(): Promise<readonly Group[]> {
  return (await files('rules')).flatMap(({ text }) => load(text) as Group[]);
}

/** Dashboards as the chart ships them. */
export async function dashboards(): Promise<readonly Dashboard[]> {
  return (await files('dashboards')).map(({ text }) => JSON.parse(text) as Dashboard);
}

/** A metric of an engine, by the versions of vLLM that export it. */
interface EngineMetric {
  readonly type: 'counter' | 'gauge' | 'histogram';
  readonly labels?: readonly string[];
  /** First version that has it; left out: all since 0.8. */
  readonly since?: string;
  /** Last version that has it. */
  readonly until?: string;
  /** Its name in later versions. */
  readonly now?: string;
}

/** Metrics of vLLM for rules and dashboards, in version 1 of its engine; each has the labels `model_name` and `engine` too. */
export const vllmMetrics: Readonly<Record<string, EngineMetric>> = {
  'vllm:num_requests_running': { type: 'gauge' },
  'vllm:num_requests_waiting': { type: 'gauge' },
  'vllm:gpu_cache_usage_perc': { type: 'gauge', until: '0.11', now: 'vllm:kv_cache_usage_perc' },
  'vllm:kv_cache_usage_perc': { type: 'gauge', since: '0.9.2' },
  'vllm:gpu_prefix_cache_queries_total': { type: 'counter', until: '0.11', now: 'vllm:prefix_cache_queries_total' },
  'vllm:gpu_prefix_cache_hits_total': { type: 'counter', until: '0.11', now: 'vllm:prefix_cache_hits_total' },
  'vllm:prefix_cache_queries_total': { type: 'counter', since: '0.9.2' },
  'vllm:prefix_cache_hits_total': { type: 'counter', since: '0.9.2' },
  'vllm:prompt_tokens_total': { type: 'counter' },
  'vllm:generation_tokens_total': { type: 'counter' },
  'vllm:request_success_total': { type: 'counter', labels: ['finished_reason'] },
  'vllm:num_preemptions_total': { type: 'counter' },
  'vllm:time_to_first_token_seconds': { type: 'histogram' },
  'vllm:time_per_output_token_seconds': { type: 'histogram', until: '0.11', now: 'vllm:inter_token_latency_seconds' },
  'vllm:inter_token_latency_seconds': { type: 'histogram', since: '0.10.2' },
  'vllm:request_time_per_output_token_seconds': { type: 'histogram', since: '0.11' },
  'vllm:e2e_request_latency_seconds': { type: 'histogram' },
  'vllm:engine_sleep_state': { type: 'gauge', labels: ['sleep_state'], since: '0.11' },
  'vllm:spec_decode_num_draft_tokens_total': { type: 'counter' },
  'vllm:spec_decode_num_accepted_tokens_total': { type: 'counter' },
};

/** Metrics of NVIDIA's DCGM exporter that dashboards use. */
const dcgmMetrics: readonly string[] = [
  'DCGM_FI_DEV_GPU_UTIL',
  'DCGM_FI_DEV_FB_USED',
  'DCGM_FI_PROF_PIPE_TENSOR_ACTIVE',
  'DCGM_FI_DEV_POWER_USAGE',
  'DCGM_FI_DEV_GPU_TEMP',
  'DCGM_FI_DEV_XID_ERRORS',
];

/** A series that Prometheus may hold, by its metric. */
export interface KnownSeries {
  readonly type: MetricType;
  readonly labels: ReadonlySet<string>;
}

/** Labels that a scrape adds to all series. */
export const scraped = ['job', 'instance', 'namespace', 'pod', 'container', 'endpoint'];
/** Labels that the PodMonitor of pools adds. */
export const relabelled = ['pool', 'model', 'expert', 'revision'] as const;

function entries(
  { name, type, labelNames = [] }: Omit<Registered, 'help'>,
  more: readonly string[],
): readonly (readonly [string, KnownSeries])[] {
  const labels = new Set([...labelNames, ...scraped, ...more]);
  if (type !== 'histogram') return [[name, { type, labels }]];
  return [
    [`${name}_bucket`, { type, labels: new Set([...labels, 'le']) }],
    [`${name}_sum`, { type: 'counter', labels }],
    [`${name}_count`, { type: 'counter', labels }],
  ];
}

/** Returns all series that our processes export, from their own registries, and listed ones of others. */
export function catalogue(): ReadonlyMap<string, KnownSeries> {
  const { operator, ...pods } = registries();
  const ours = [
    ...operator.flatMap((metric) => entries(metric, [])),
    ...Object.values(pods).flatMap((metrics) => metrics.flatMap((metric) => entries(metric, relabelled))),
  ];
  const engines = Object.entries(vllmMetrics).flatMap(([name, { type, labels = [] }]) =>
    entries({ name, type, labelNames: [...labels, 'model_name', 'engine'] }, relabelled),
  );
  const gauges = dcgmMetrics.flatMap((name) => entries({ name, type: 'gauge', labelNames: ['Hostname', 'gpu', 'UUID'] }, []));
  const up = entries({ name: 'up', type: 'gauge' }, relabelled);
  return new Map([...ours, ...engines, ...gauges, ...up]);
}
