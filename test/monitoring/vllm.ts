// test, monitoring: metric names that vLLM and the DCGM exporter export. May import any package.

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
export const dcgmMetrics: readonly string[] = [
  'DCGM_FI_DEV_GPU_UTIL',
  'DCGM_FI_DEV_FB_USED',
  'DCGM_FI_PROF_PIPE_TENSOR_ACTIVE',
  'DCGM_FI_DEV_POWER_USAGE',
  'DCGM_FI_DEV_GPU_TEMP',
  'DCGM_FI_DEV_XID_ERRORS',
];
