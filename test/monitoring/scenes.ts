// Series of a fleet that is well, and of fleets that are not, in the language of promqltest: a value, then `+step` and `x` times.

/** Series of a fleet in which nothing is the matter, by minute for an hour. */
const job = 'job="agentfleet-system/agentfleet-operator"';
const gen = 'pool="p/c",expert="gen",revision="aa"';
const buckets = (name: string, le: string): readonly string[] =>
  [le, '+Inf'].map((bound) => `${name}_bucket{${gen},pod="gen-1",le="${bound}"} 0+60x60`);

export const healthy: readonly string[] = [
  `up{${job},pod="o1"} 1x60`,
  'leader_election_master_status{name="agentfleet-operator",pod="o1"} 1x60',
  'leader_election_master_status{name="agentfleet-operator",pod="o2"} 0x60',
  `controller_runtime_reconcile_errors_total{${job},controller="agenttask"} 0x60`,
  `controller_runtime_reconcile_total{${job},controller="agenttask",result="success"} 0+60x60`,
  `controller_runtime_reconcile_panics_total{${job},controller="agenttask"} 0x60`,
  `workqueue_longest_running_processor_seconds{${job},controller="agenttask"} 0x60`,
  `nodejs_eventloop_lag_max_seconds{${job},pod="o1"} 0.01x60`,
  // Planned work on a node.
  'agentfleet_placement_slot_fault{node="m",slot="m/gpu0",reason="NodeCordoned",pod="o1"} 1x60',
  'agentfleet_placement_solve_seconds_bucket{pod="o1",le="0.5"} 0+1x60',
  'agentfleet_placement_solve_seconds_bucket{pod="o1",le="+Inf"} 0+1x60',
  'agentfleet_tasks_overdue{pool="p/c",pod="o1"} 0x60',
  'agentfleet_tasks{pool="p/c",phase="Queued",pod="o1"} 3x60',
  'agentfleet_tasks{pool="p/c",phase="Running",pod="o1"} 1x60',
  'agentfleet_task_ends_total{phase="Failed",rollback="NotVerified",pod="o1"} 0x60',
  'agentfleet_condition{pool="p/c",type="Ready",status="True",reason="Ready",pod="o1"} 1x60',
  'agentfleet_condition{pool="p/c",type="RolloutHealthy",status="True",reason="Idle",pod="o1"} 1x60',
  'agentfleet_condition{pool="p/c",type="PlacementFeasible",status="True",reason="Placed",pod="o1"} 1x60',
  'agentfleet_condition{model="p/j",type="Calibrated",status="True",reason="Calibrated",pod="o1"} 1x60',
  ...['o1', 'o2'].flatMap((pod) => [
    `agentfleet_pool_workers_wanted{pool="p/c",pod="${pod}"} 2x60`,
    `agentfleet_pool_workers_ready{pool="p/c",pod="${pod}"} 2x60`,
    `agentfleet_expert_wanted{pool="p/c",expert="gen",pod="${pod}"} 1x60`,
    `agentfleet_expert_ready{pool="p/c",expert="gen",pod="${pod}"} 1x60`,
    `agentfleet_expert_info{${gen},track="stable",pod="${pod}",slot="n/gpu0"} 1x60`,
    `agentfleet_energymodel_info{model="p/j",track="stable",pod="${pod}"} 1x60`,
  ]),
  // During a promotion the two pods of the operator may differ.
  'agentfleet_expert_info{pool="p/c",expert="gen",revision="bb",track="canary",pod="o1"} 1x60',
  'agentfleet_expert_info{pool="p/c",expert="gen",revision="bb",track="stable",pod="o2"} 1x60',
  'agentfleet_energymodel_wanted{model="p/j",pod="o1"} 1x60',
  'agentfleet_energymodel_ready{model="p/j",pod="o1"} 1x60',
  'agentfleet_energymodel_calibration_ece{model="p/j",head="Code",pod="o1"} 0.02x60',
  'agentfleet_rollout_phase{pool="p/c",phase="Frozen",pod="o1"} 0x60',
  'agentfleet_rollout_phase{pool="p/c",phase="Idle",pod="o1"} 1x60',
  'agentfleet_rollout_gate{pool="p/c",gate="pass",verdict="Pass",pod="o1"} 1x60',
  'agentfleet_placement_estimate_error_ratio{pool="p/c",expert="gen",pod="o1"} -0.1x60',
  `agentfleet_inference_ready{${gen},pod="gen-1"} 1x60`,
  'agentfleet_inference_ready{model="p/j",pod="j-1"} 1x60',
  `agentfleet_inference_queue_waiting{${gen},pod="gen-1",endpoint="http"} 2x60`,
  'agentfleet_inference_queue_waiting{model="p/j",pod="j-1"} 4x60',
  `agentfleet_inference_requests_total{${gen},code="ok",pod="gen-1"} 0+60x60`,
  `agentfleet_inference_requests_total{${gen},code="AF_QUEUE_FULL",pod="gen-1"} 0+30x60`,
  'agentfleet_inference_requests_total{model="p/j",code="ok",pod="j-1"} 0+60x60',
  ...buckets('agentfleet_inference_request_seconds', '1'),
  `vllm:num_requests_waiting{${gen},pod="gen-1",endpoint="engine",engine="0"} 3x60`,
  `vllm:num_requests_running{${gen},pod="gen-1"} 1x60`,
  // Both names at once, as some versions have them.
  `vllm:kv_cache_usage_perc{${gen},pod="gen-1"} 0.5x60`,
  `vllm:gpu_cache_usage_perc{${gen},pod="gen-1"} 0.5x60`,
  `vllm:request_success_total{${gen},finished_reason="stop",pod="gen-1"} 0+60x60`,
  ...buckets('vllm:time_to_first_token_seconds', '1'),
  ...buckets('vllm:inter_token_latency_seconds', '0.1'),
  ...buckets('vllm:time_per_output_token_seconds', '5'),
  ...buckets('vllm:e2e_request_latency_seconds', '100'),
  'agentfleet_worker_lease_fresh{pool="p/c",pod="w1"} 1x60',
  'agentfleet_worker_audit_gaps_total{pool="p/c",pod="w1"} 0x60',
];

const engine = '{pool="p/c",expert="gen",revision="aa",track="stable"}';

/** Values of the recorded series of that fleet. */
export const recorded: Readonly<Record<string, readonly string[]>> = {
  'fleet:queue_depth': [`${engine} 5`, '{model="p/j",track="stable"} 4'],
  'fleet:running': [`${engine} 1`],
  'fleet:kv_usage': [`${engine} 0.5`],
  'fleet:requests:rate5m': [`${engine} 1.5`, '{model="p/j",track="stable"} 1'],
  'fleet:errors:rate5m': [`${engine} 0`, '{model="p/j",track="stable"} 0'],
  'fleet:request_seconds:p95': [`${engine} 0.95`],
  'fleet:ttft_seconds:p99': [`${engine} 0.99`],
  'fleet:itl_seconds:p95': [`${engine} 0.095`],
};

/** An alert's result in a fault: the series that then differ (by the beginning of the line), and its message. */
interface Sickness {
  readonly without?: readonly string[];
  readonly series?: readonly string[];
  readonly tells: readonly string[];
}

const condition = (of: string, type: string, reason: string): string =>
  `agentfleet_condition{${of},type="${type}",status="False",reason="${reason}",pod="o1"} 1x60`;
const pool = '{pool="p/c"} ';

export const sick: Readonly<Record<string, Sickness>> = {
  AgentFleetOperatorDown: { without: ['up{'], series: [`up{${job},pod="o1"} 0x60`], tells: ['{} 1'] },
  AgentFleetNoLeader: { without: ['leader_election'], tells: ['{} 1'] },
  AgentFleetTwoLeaders: { series: ['leader_election_master_status{name="agentfleet-operator",pod="o3"} 1x60'], tells: ['{} 2'] },
  AgentFleetReconcileErrors: {
    without: ['controller_runtime_reconcile_errors'],
    series: [`controller_runtime_reconcile_errors_total{${job},controller="agenttask"} 0+30x60`],
    tells: ['{controller="agenttask"} 0.5'],
  },
  AgentFleetReconcilePanics: {
    without: ['controller_runtime_reconcile_panics'],
    series: [`controller_runtime_reconcile_panics_total{${job},controller="agenttask"} 0x36 1x24`],
    tells: ['{controller="agenttask"} 1'],
  },
  AgentFleetReconcileStuck: {
    without: ['workqueue'],
    series: [`workqueue_longest_running_processor_seconds{${job},controller="agenttask"} 700x60`],
    tells: ['{controller="agenttask"} 700'],
  },
  AgentFleetEventLoopBlocked: {
    without: ['nodejs'],
    series: [`nodejs_eventloop_lag_max_seconds{${job},pod="o1"} 6x60`],
    tells: ['{pod="o1"} 6'],
  },
  AgentFleetPlacementSlow: {
    without: ['agentfleet_placement_solve'],
    series: ['1', '+Inf'].map((le) => `agentfleet_placement_solve_seconds_bucket{pod="o1",le="${le}"} 0+1x60`),
    tells: ['{} 0.99'],
  },
  AgentFleetTasksOverdue: {
    without: ['agentfleet_tasks_overdue'],
    series: ['agentfleet_tasks_overdue{pool="p/c",pod="o1"} 2x60'],
    tells: [`${pool}2`],
  },
  AgentFleetQueueStands: { without: ['agentfleet_tasks{pool="p/c",phase="Running"'], tells: [`${pool}3`] },
  AgentFleetRollbackNotVerified: {
    without: ['agentfleet_task_ends'],
    series: ['agentfleet_task_ends_total{phase="Failed",rollback="NotVerified",pod="o1"} 0x20 1x40'],
    tells: ['{} 1'],
  },
  AgentFleetVetoesExcessive: {
    series: [
      'agentfleet_task_vetoes_total{pod="o1"} 0+60x60',
      'agentfleet_task_ends_total{phase="Succeeded",rollback="None",pod="o1"} 0+2x60',
    ],
    tells: ['{} 30'],
  },
  AgentFleetPoolNotReady: { series: [condition('pool="p/c"', 'Ready', 'NoPlace')], tells: ['{pool="p/c",reason="NoPlace"} 1'] },
  AgentFleetNoWorkers: {
    without: ['agentfleet_pool_workers_ready'],
    series: ['agentfleet_pool_workers_ready{pool="p/c",pod="o1"} 0x60'],
    tells: [`${pool}2`],
  },
  AgentFleetWorkersMissing: {
    without: ['agentfleet_pool_workers_ready'],
    series: ['agentfleet_pool_workers_ready{pool="p/c",pod="o1"} 1x60'],
    tells: [`${pool}1`],
  },
  AgentFleetNoExpertReady: {
    without: ['agentfleet_expert_ready'],
    series: ['agentfleet_expert_ready{pool="p/c",expert="gen",pod="o1"} 0x60'],
    tells: ['{pool="p/c",expert="gen"} 1'],
  },
  AgentFleetNoVerifierReady: { without: ['agentfleet_energymodel_ready'], tells: ['{model="p/j"} 1'] },
  AgentFleetVerifierUncalibrated: { series: [condition('model="p/j"', 'Calibrated', 'Stale')], tells: ['{model="p/j",reason="Stale"} 1'] },
  AgentFleetCalibrationPoor: {
    series: ['agentfleet_energymodel_calibration_ece{model="p/j",head="Shell",pod="o1"} 0.3x60'],
    tells: ['{model="p/j",head="Shell"} 0.3'],
  },
  AgentFleetRolloutFrozen: {
    without: ['agentfleet_rollout_phase'],
    series: ['agentfleet_rollout_phase{pool="p/c",phase="Frozen",pod="o1"} 1x60', condition('pool="p/c"', 'RolloutHealthy', 'Frozen')],
    tells: [`${pool}1`],
  },
  AgentFleetRolloutHeld: { series: [condition('pool="p/c"', 'RolloutHealthy', 'Held')], tells: ['{pool="p/c",reason="Held"} 1'] },
  AgentFleetShadowUnhealthy: {
    series: [condition('model="p/j"', 'ShadowHealthy', 'NoTraffic')],
    tells: ['{model="p/j",reason="NoTraffic"} 1'],
  },
  AgentFleetGateWithoutData: {
    series: ['agentfleet_rollout_gate{pool="p/c",gate="p95",verdict="InsufficientData",pod="o1"} 1x60'],
    tells: ['{pool="p/c",gate="p95"} 1'],
  },
  AgentFleetPlacementConflict: {
    series: ['agentfleet_placement_conflicts{node="n",type="TwoStacks",pod="o1"} 1x60'],
    tells: ['{node="n",type="TwoStacks"} 1'],
  },
  AgentFleetPlacementInfeasible: {
    series: [condition('pool="p/c"', 'PlacementFeasible', 'NotEnoughMemory')],
    tells: ['{pool="p/c",reason="NotEnoughMemory"} 1'],
  },
  AgentFleetSlotUnhealthy: {
    series: ['SlotGone', 'NodeUnschedulable'].map(
      (reason, at) => `agentfleet_placement_slot_fault{node="n",slot="n/gpu${at}",reason="${reason}",pod="o1"} 1x60`,
    ),
    tells: ['{slot="n/gpu0",reason="SlotGone"} 1', '{slot="n/gpu1",reason="NodeUnschedulable"} 1'],
  },
  AgentFleetEstimateDrift: {
    without: ['agentfleet_placement_estimate'],
    series: ['agentfleet_placement_estimate_error_ratio{pool="p/c",expert="gen",pod="o1"} -0.2x60'],
    tells: ['{pool="p/c",expert="gen"} 0.2'],
  },
  AgentFleetEngineErrors: {
    series: [`agentfleet_inference_requests_total{${gen},code="AF_INTERNAL",pod="gen-1"} 0+30x60`],
    tells: [`${engine} 0.25`],
  },
  AgentFleetKeysAndValuesFull: {
    without: ['vllm:kv_cache', 'vllm:gpu_cache'],
    series: [`vllm:kv_cache_usage_perc{${gen},pod="gen-1"} 0.97x60`],
    tells: [`${engine} 0.97`],
  },
  AgentFleetModelAnswersUnusable: {
    series: ['ok', 'ProviderMalformed'].map(
      (result) => `agentfleet_gateway_requests_total{pool="p/c",model="chat",result="${result}",pod="g1"} 0+30x60`,
    ),
    tells: ['{pool="p/c",model="chat"} 0.5'],
  },
  AgentFleetExpertNotScraped: { without: [`agentfleet_inference_ready{${gen}`], tells: ['{pool="p/c",expert="gen"} 1'] },
  AgentFleetVerifierNotScraped: { without: ['agentfleet_inference_ready{model'], tells: ['{model="p/j"} 1'] },
  AgentFleetWorkersNotScraped: { without: ['agentfleet_worker_lease_fresh'], tells: [`${pool}2`] },
  AgentFleetSeriesRenamed: { without: ['vllm:kv_cache', 'vllm:gpu_cache'], tells: ['{pool="p/c",expert="gen"} 1'] },
  AgentFleetAuditGap: {
    without: ['agentfleet_worker_audit_gaps'],
    series: ['agentfleet_worker_audit_gaps_total{pool="p/c",pod="w1"} 0x20 1x40'],
    tells: [`${pool}1`],
  },
  AgentFleetWorkerLeaseLost: {
    without: ['agentfleet_worker_lease_fresh'],
    series: ['agentfleet_worker_lease_fresh{pool="p/c",pod="w1"} 0x60'],
    tells: ['{pool="p/c",pod="w1"} 0'],
  },
};
