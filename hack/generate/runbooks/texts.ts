// hack, generate/runbooks: texts of the runbook of each alert. May import any package.

/** Texts of a page besides the rule itself. Commands take the namespace of the release as `agentfleet-system`. */
interface RunbookText {
  /** Parts that stop or may be wrong meanwhile, and parts that continue. */
  readonly impact: string;
  /** Commands that show the cause, in the order in which one looks. */
  readonly look: readonly string[];
  readonly cure: string;
}

const operator = 'kubectl -n agentfleet-system';
const operatorLog = `${operator} logs deployment/agentfleet-operator --since=30m | grep '"level":"error"'`;
const pools = 'kubectl get expertpools -A';
const describePool = 'kubectl -n NAMESPACE describe expertpool POOL';
const describeModel = 'kubectl -n NAMESPACE describe energymodel MODEL';
const gates = "kubectl -n NAMESPACE get expertpool POOL -o jsonpath='{.status.rollout}'";
const workersOf = 'kubectl -n NAMESPACE get pods -l agentfleet.dev/component=worker,agentfleet.dev/pool=POOL -o wide';
const expertsOf = 'kubectl -n NAMESPACE get pods -l agentfleet.dev/component=expert,agentfleet.dev/pool=POOL -o wide';
const tasks = 'kubectl get agenttasks -A --sort-by=.metadata.creationTimestamp';
const servesOn = 'What served before serves on; tasks go on.';
const blind = 'Tasks go on. Rules, scalers and rollouts see nothing of it, and missing data promotes nothing.';

/** By alert, in alphabetical order. */
export const runbookTexts: Readonly<Record<string, RunbookText>> = {
  AgentFleetAuditGap: {
    impact: 'What a task did can no longer be proved from its log alone. The task goes on and carries the condition AuditGap.',
    look: [`${tasks} -o json | grep -B3 AuditGap`, 'fleet audit verify -n NAMESPACE TASK', workersOf],
    cure: 'Find why the storage lost what it had confirmed: retention of the bucket, a volume that was replaced, two clusters that write to one prefix. Treat the log of this task as cut, and review its patch by hand.',
  },
  AgentFleetCalibrationPoor: {
    impact: 'The verifier ranks as before, and its probabilities are off: it vetoes too much or too little.',
    look: [describeModel, 'fleet eval run PACK --ablate EBM'],
    cure: 'Roll out an artifact that was calibrated on newer data. Until then write what may be used into spec.calibration; a gate ECE keeps worse ones out.',
  },
  AgentFleetEngineErrors: {
    impact: 'Attempts ask again and take longer; an attempt that gets no answer ends as Infrastructure and is not charged.',
    look: [expertsOf, 'kubectl -n NAMESPACE logs POD -c inference --since=30m', 'kubectl -n NAMESPACE logs POD -c engine --since=30m'],
    cure: 'Mend what the code of the error names. AF_ENGINE_UNAVAILABLE comes from the engine beside: memory of the device, weights that cannot be read, a version that lacks an option.',
  },
  AgentFleetEstimateDrift: {
    impact: 'Places on the GPU are counted wrongly: an engine may run out of memory, or room stays unused.',
    look: [describePool, 'kubectl get expertpools -A -o wide'],
    cure: 'Set resources.memory.kvTokens of the expert, or engine.vLLM.kvCacheBytes, to what the condition EstimateDrift reports.',
  },
  AgentFleetEventLoopBlocked: {
    impact: 'Decisions come late. A leader that stands still for longer than its lease loses it, and another pod takes over.',
    look: [`${operator} top pods`, `${operator} describe deployment agentfleet-operator`],
    cure: 'Raise the limit of CPU in resources of the chart. Where it stays, count the tasks: one operator is measured for 10,000.',
  },
  AgentFleetExpertNotScraped: {
    impact: blind,
    look: ['kubectl get podmonitors -A -l app.kubernetes.io/name=agentfleet', 'kubectl get networkpolicies -n NAMESPACE'],
    cure: 'Set podMonitor.prometheusNamespace, so that walls let Prometheus in, and the labels by which it selects PodMonitors.',
  },
  AgentFleetGateWithoutData: {
    impact: `The rollout waits. ${servesOn}`,
    look: [gates],
    cure: 'Mend the series or the query that the message of the gate names. A canary without tasks needs a greater weight, or more tasks.',
  },
  AgentFleetKeysAndValuesFull: {
    impact: 'Requests wait, so that tasks take longer; none fails by it.',
    look: [describePool, expertsOf],
    cure: 'Raise resources.memory.kvTokens or add a replica; with neither, lower maxNumSeqs of the engine.',
  },
  AgentFleetModelAnswersUnusable: {
    impact: 'Attempts lose steps, and end as Infrastructure or Stuck. As a rule a model, its server or a proxy before it was changed.',
    look: [
      'kubectl -n NAMESPACE logs -l agentfleet.dev/component=gateway,agentfleet.dev/pool=POOL --since=30m | grep \'"level":"error"\'',
      describePool,
    ],
    cure: 'Compare what was changed at the provider with the expert: toolCalls Json instead of Native where a model writes broken calls, the version of the API, the name of the model. Put the former one back meanwhile.',
  },
  AgentFleetNoExpertReady: {
    impact: 'Tasks that need this role wait or fail as Infrastructure; others go on.',
    look: [describePool, expertsOf, 'kubectl -n NAMESPACE logs POD -c inference --previous'],
    cure: 'Mend what status.experts[].message names: memory of the container, weights, the image, a place on a GPU (condition PlacementFeasible).',
  },
  AgentFleetNoLeader: {
    impact: 'Nothing is reconciled: no task begins or ends. Attempts that run go on, because workers need no operator.',
    look: [`${operator} get lease agentfleet-operator -o yaml`, `${operator} get pods -o wide`, operatorLog],
    cure: 'Delete the pod that holds the lease and does not renew it. Where none may write the lease, mend the network to the API server or the Role of the operator.',
  },
  AgentFleetNoVerifierReady: {
    impact: 'Acts that a profile lets only a verifier pass are not done (FailClosed), so that tasks get stuck; candidates are not ranked.',
    look: [describeModel, 'kubectl -n NAMESPACE get pods -l agentfleet.dev/component=verifier'],
    cure: 'Mend what the condition Ready names: the artifact and its digest, memory, the image.',
  },
  AgentFleetNoWorkers: {
    impact: 'No task of the pool begins. Those of lost workers begin another attempt, from their checkpoint, once one is there.',
    look: [describePool, workersOf, 'kubectl -n NAMESPACE logs POD --since=30m'],
    cure: 'Mend what the condition WorkersReady names. A pod that is ready and has no fresh Lease does not reach the API server: see the walls (workerEgress) and its node.',
  },
  AgentFleetOperatorDown: {
    impact: 'No task begins, ends or is undone. Attempts that run go on.',
    look: [
      `${operator} get pods -o wide`,
      `${operator} describe deployment agentfleet-operator`,
      `${operator} logs deployment/agentfleet-operator --previous`,
    ],
    cure: 'Mend what the last lines of the log of the pod name: the image, a value of the chart (each fault is listed with its cure), the API server. Where the pods answer, Prometheus has no token or no way: metrics.readers, networkPolicy.',
  },
  AgentFleetPlacementConflict: {
    impact: 'Nobody new is placed on the node. Two programs may get the memory of one board.',
    look: ['kubectl get resourceslices', 'kubectl describe node NODE', operatorLog],
    cure: 'TwoStacks: take the device plugin or the DRA driver off the node. SharedBoard: turn off time-slicing of the plugin.',
  },
  AgentFleetPlacementInfeasible: {
    impact: 'The engine is not started. Its pool goes on without it, or is not ready.',
    look: ["kubectl -n NAMESPACE get expertpool POOL -o jsonpath='{.status.plan.rejected}'", 'kubectl get resourceslices'],
    cure: 'Ask for less memory, name another slot, or add a board; each rejected place is listed with the bytes that it lacks. NodeCordoned: the engine was evicted from a cordoned node and has no other place; uncordon the node, or make room on another one.',
  },
  AgentFleetPlacementSlow: {
    impact: 'Engines begin late; other controllers wait for the same processor.',
    look: [pools, operatorLog],
    cure: 'Name slots in spec.experts[].resources.slot, so that fewer engines are free to be anywhere, or make pools of fewer engines.',
  },
  AgentFleetPoolNotReady: {
    impact: 'Tasks of the pool wait, or do without a part of it.',
    look: [pools, describePool],
    cure: 'Mend what the conditions name; each has its cure (docs/reference/reasons.md).',
  },
  AgentFleetQueueStands: {
    impact: 'Tasks of the pool wait and none runs.',
    look: [`${tasks} | grep Queued | head`, 'fleet explain -n NAMESPACE TASK', workersOf],
    cure: 'Follow the condition Scheduled of the first task: workers, a limit of the pool, a cap of spending, a quota of the namespace.',
  },
  AgentFleetReconcileErrors: {
    impact: 'Objects of this kind are changed late or not at all.',
    look: [operatorLog],
    cure: 'Errors 403 come from roles that are older than the operator: upgrade the chart as a whole. Others name the object; correct it.',
  },
  AgentFleetReconcilePanics: {
    impact: 'One object is not reconciled; the others are.',
    look: [operatorLog],
    cure: 'It is a defect. Keep the object as it is and report it with the line of the log.',
  },
  AgentFleetReconcileStuck: {
    impact: 'One object waits for an answer that does not come, and holds one place of its controller.',
    look: [operatorLog, 'kubectl get --raw /readyz?verbose'],
    cure: 'Delete the pod that leads: another one begins anew. Where it comes back, the API server or an engine does not answer.',
  },
  AgentFleetRollbackNotVerified: {
    impact: 'The tree of a task was put back and has another hash than its snapshot. Nothing of it may be used.',
    look: [`${tasks} -o json | grep -B5 NotVerified`, 'fleet audit verify -n NAMESPACE TASK', 'fleet snapshots -n NAMESPACE TASK'],
    cure: 'The sandbox is kept. Compare its tree with the manifest; where the store is damaged, create the task again. Delete the task when the cause is known.',
  },
  AgentFleetRolloutFrozen: {
    impact: servesOn,
    look: [gates],
    cure: 'Ask for another revision, or give the annotation agentfleet.dev/retry-rollout a new value when the cause lay elsewhere.',
  },
  AgentFleetRolloutHeld: {
    impact: servesOn,
    look: [describePool, gates],
    cure: 'Give the gate what the condition RolloutHealthy says that it lacks, or ask for another revision; fleet reject leads this one back, and no approval overrides a gate.',
  },
  AgentFleetSeriesRenamed: {
    impact: blind,
    look: ['kubectl -n NAMESPACE exec POD -c engine -- curl -s localhost:8000/metrics | grep -v "^#"'],
    cure: 'Use a version of the engine whose names docs/observability.md lists, or a version of the chart that knows the new ones.',
  },
  AgentFleetShadowUnhealthy: {
    impact: `The shadow says little about the revision. ${servesOn}`,
    look: [describePool],
    cure: 'Change the field of shadow that the condition ShadowHealthy names.',
  },
  AgentFleetSlotUnhealthy: {
    impact: 'Nothing new is placed on this GPU; its engines may have ended.',
    look: ['kubectl get resourceslices', 'kubectl -n agentfleet-system get configmap agentfleet-slots -o yaml'],
    cure: 'SlotTainted: see to the device. SlotGone: bring node or driver back. SlotPending: start the driver of the node anew. SlotRebound: approve the new board by agentfleet.dev/approve-slot. SlotNotHeld: look at the pod that holds it. NodeUnschedulable: see to the node.',
  },
  AgentFleetTasksOverdue: {
    impact: 'These tasks hold their sandboxes and stay unfinished.',
    look: [`${tasks} | grep -E 'RollingBack|Running'`, 'fleet explain -n NAMESPACE TASK', workersOf],
    cure: 'Bring back workers of the pool: without one nothing can be undone. Deleting the task gives its sandbox up without an undo.',
  },
  AgentFleetTwoLeaders: {
    impact: 'None: a write without a fresh lease is refused. The cause is a clock or a network that is off.',
    look: [`${operator} get lease agentfleet-operator -o yaml`, `${operator} get pods -o wide`],
    cure: 'Delete the pod that is not the holder, and set the clock of its node right.',
  },
  AgentFleetVerifierNotScraped: {
    impact: blind,
    look: ['kubectl get podmonitors -A', 'kubectl get networkpolicies -n NAMESPACE'],
    cure: 'As for AgentFleetExpertNotScraped.',
  },
  AgentFleetVerifierUncalibrated: {
    impact: 'The verifier abstains: it vetoes nothing and passes nothing.',
    look: [describeModel],
    cure: 'Do what the condition Calibrated says: train on more data, or name calibration that fits the artifact.',
  },
  AgentFleetVetoesExcessive: {
    impact:
      'Gates refuse so much that tasks get stuck or expensive. As a rule a verifier or a policy was changed, or a program uses new commands.',
    look: ['fleet logs -n NAMESPACE TASK | grep -i refused', describeModel, 'fleet eval run PACK --ablate EBM'],
    cure: 'Read which rule refuses. A rail: give the tasks a profile that lets the act pass or asks a person (spec.policy, docs/reference/gates.md). Gate 2: roll the verifier back, or lower its thresholds.',
  },
  AgentFleetWorkerLeaseLost: {
    impact: 'The worker has put its tasks down; others take them over from their logs.',
    look: [workersOf, 'kubectl -n NAMESPACE logs POD --since=30m'],
    cure: 'Mend the way from its node to the API server; the worker goes on by itself.',
  },
  AgentFleetWorkersMissing: {
    impact: 'Fewer tasks run at a time than the pool is to do.',
    look: [describePool, workersOf],
    cure: 'Find pods that are Pending (no room on nodes) or restart, and mend what their events say.',
  },
  AgentFleetWorkersNotScraped: {
    impact: `${blind} AgentFleetAuditGap cannot fire.`,
    look: ['kubectl get podmonitors -A -l app.kubernetes.io/name=agentfleet'],
    cure: 'Let Prometheus select the PodMonitor agentfleet-pools (podMonitor.labels), and let it in (podMonitor.prometheusNamespace).',
  },
};
