import type { Mutant } from './mutants.ts';

const metrics = 'operator/src/metrics';
const rules = 'charts/agentfleet/files/monitoring/rules';
const expressions: Mutant['test'] = { kind: 'vitest', path: 'test/monitoring/monitoring.test.ts' };
const placement: Mutant['test'] = { kind: 'vitest', path: `${metrics}/placement.test.ts` };
const owners: Mutant['test'] = { kind: 'vitest', path: `${metrics}/owners.test.ts` };

/** Of metrics, rules and dashboards, and of walls around pods that only hold GPUs. */
export const monitoring: readonly Mutant[] = [
  {
    guarantee: 'bytes that plans gave away are told by slot',
    file: `${metrics}/placement.ts`,
    find: "tell('reserved', reserved.get(slot) ?? 0)",
    replace: "tell('reserved', known.get(slot) ?? 0)",
    test: placement,
  },
  {
    guarantee: 'a slot that cannot be used is told as such',
    file: `${metrics}/placement.ts`,
    find: 'value: Number(fault === undefined)',
    replace: 'value: Number(name !== undefined)',
    test: placement,
  },
  {
    guarantee: 'all gauges of a scrape share one look at the GPUs, and the next scrape has its own',
    file: `${metrics}/placement.ts`,
    find: 'queueMicrotask(() => (seen = undefined))',
    replace: 'queueMicrotask(() => undefined)',
    test: placement,
  },
  {
    guarantee: 'the first revision of a verifier is told as the one that serves',
    file: `${metrics}/placement.ts`,
    find: 'const serving = stable ?? canary;',
    replace: 'const serving = stable;',
    test: placement,
  },
  {
    guarantee: 'metrics have no series of pools that are gone',
    file: `${metrics}/sampled.ts`,
    find: 'gauge.reset();',
    replace: '',
    test: owners,
  },
  {
    guarantee: 'a task is overdue only when nothing stands still',
    file: `${metrics}/overdue.ts`,
    find: 'clock.pausedAt !== undefined',
    replace: "clock.pausedAt === 'never'",
    test: { kind: 'vitest', path: `${metrics}/overdue.test.ts` },
  },
  {
    guarantee: 'the end of a task is counted once',
    file: 'operator/src/controllers/agenttask/endings.ts',
    find: "before?.finished === 'true'",
    replace: "before?.finished === 'never'",
    test: { kind: 'vitest', path: 'operator/src/controllers/agenttask/endings.test.ts' },
  },
  {
    guarantee: 'an event log that lost records is counted',
    file: 'agent-image/src/durable/durability.ts',
    find: '    this.#options.onGap?.();\n',
    replace: '',
    test: { kind: 'vitest', path: 'agent-image/src/durable/durability.test.ts' },
  },
  {
    guarantee: 'rules ask for metrics that are exported',
    file: `${rules}/tasks.yaml`,
    find: 'agentfleet_tasks_overdue)',
    replace: 'agentfleet_task_overdue)',
    test: expressions,
  },
  {
    guarantee: 'rules know the names that vLLM gave up',
    file: `${rules}/engines.yaml`,
    find: 'max by (pool, model, expert, revision) ({__name__=~"vllm:kv_cache_usage_perc|vllm:gpu_cache_usage_perc"})',
    replace: 'max by (pool, model, expert, revision) ({__name__=~"vllm:kv_cache_usage_perc"})',
    test: expressions,
  },
  {
    guarantee: 'rules ask for values of labels that are told',
    file: `${rules}/tasks.yaml`,
    find: '{rollback="NotVerified"}',
    replace: '{rollback="Unverified"}',
    test: expressions,
  },
  {
    guarantee: 'texts of alerts name labels that their result has',
    file: `${rules}/gpus.yaml`,
    find: "summary: 'GPU {{ $labels.slot }}",
    replace: "summary: 'GPU {{ $labels.gpu }}",
    test: expressions,
  },
  {
    guarantee: 'dashboards ask for metrics that are exported',
    file: 'charts/agentfleet/files/monitoring/dashboards/gpus.json',
    find: 'max by (node, type) (agentfleet_placement_conflicts)',
    replace: 'max by (node, kind) (agentfleet_placement_conflicts)',
    test: expressions,
  },
  {
    guarantee: 'the page names every alert',
    file: 'docs/observability.md',
    find: '`AgentFleetQueueStands`',
    replace: 'A queue',
    test: { kind: 'vitest', path: 'test/monitoring/page.test.ts' },
  },
  {
    guarantee: 'walls let in only the Prometheus that is named',
    file: 'operator/src/serving/server.ts',
    find: 'if (namespace === undefined) return wall;',
    replace: "namespace ??= 'monitoring';",
    test: { kind: 'vitest', path: 'operator/src/serving/scraped.test.ts' },
  },
  {
    guarantee: 'pods that hold GPUs hear nobody and speak to nobody',
    file: 'operator/src/serving/server.ts',
    find: "podSelector: { matchLabels: { ...pods } }, policyTypes: ['Ingress', 'Egress'] };",
    replace: "podSelector: { matchLabels: { ...pods } }, policyTypes: ['Ingress'] };",
    test: { kind: 'vitest', path: 'operator/src/controllers/placement/reserve/walls.test.ts' },
  },
];
