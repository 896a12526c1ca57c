import type { AgentTask, AgentTaskStatus, Assignment, FailureClass } from '@agentfleet/protocol/api';
import type { Pod } from '../../../runtime/resources.ts';
import { sandboxFinalizer } from '@agentfleet/protocol/pool';
import type { Snapshot, WorkerView } from '../facts/snapshot.ts';
import { newPool, newTask } from './objects.ts';
import { usage } from './scriptedWorker.ts';

export const now = Date.UTC(2030, 0, 1, 1);
export const ago = (seconds: number): string => `${new Date(now - seconds * 1000).toISOString().slice(0, 19)}Z`;

export const worker = (name: string, view: Partial<WorkerView> = {}): WorkerView => ({
  name,
  namespace: 'platform',
  ready: true,
  lost: undefined,
  load: 0,
  ...view,
});
export const gone = worker('w-1', { ready: false, lost: 'the worker pod platform/w-1 is gone' });

export const assignment: Assignment = {
  attempt: 1,
  epoch: 1,
  worker: 'w-1',
  workerNamespace: 'platform',
  sandbox: 'one-1',
  warm: false,
  since: ago(100),
  directive: 'Run',
};
export const clock = { startedAt: ago(100), pausedSeconds: 0 };
export const ready = {
  type: 'SandboxReady',
  status: 'True',
  reason: 'Ready',
  message: 'pod one-1 answers',
  lastTransitionTime: ago(90),
} as const;
export const accepted = { type: 'Accepted', status: 'True', reason: 'Accepted', message: '', lastTransitionTime: ago(100) } as const;
export const working: AgentTaskStatus = {
  assignment,
  clock,
  finished: 'false',
  phase: 'Running',
  conditions: [accepted, ready],
  run: { attempt: 1, epoch: 1, usage, snapshots: { initial: 's0001' } },
};

export const taskOf = (status: AgentTaskStatus | undefined, spec: object = {}): AgentTask => {
  const task = newTask('one', { ...spec }, { uid: 'u-1', generation: 1, creationTimestamp: ago(200) });
  return status === undefined ? task : { ...task, status };
};

export const podOf = (name: string, change: { metadata?: object; status?: object; spec?: object } = {}): Pod => ({
  apiVersion: 'v1',
  kind: 'Pod',
  metadata: {
    name,
    namespace: 'team',
    uid: `p-${name}`,
    finalizers: [sandboxFinalizer],
    ownerReferences: [{ apiVersion: 'agentfleet.dev/v1alpha1', kind: 'AgentTask', name: 'one', uid: 'u-1', controller: true }],
    ...change.metadata,
  },
  spec: { nodeName: 'n1', ...change.spec },
  status: {
    phase: 'Running',
    containerStatuses: ['keeper', 'tools'].map((name) => ({ name, ready: true, restartCount: 0, state: { running: {} } })),
    ...change.status,
  },
});

export const snapshotOf = (task: AgentTask, change: Partial<Snapshot> = {}): Snapshot => ({
  task,
  tracked: false,
  awaited: false,
  resolution: { pool: newPool() },
  registriesListed: false,
  openings: [],
  capabilities: { nodes: [], runtimeClasses: [] },
  prepared: true,
  pods: task.status?.assignment === undefined ? [] : [podOf('one-1')],
  warm: [],
  workers: [worker('w-1')],
  assigned: task.status?.assignment === undefined ? undefined : worker('w-1'),
  queue: { running: 0, runningInNamespace: 0, waiting: 0, ahead: 0, takers: 0, stranded: 0 },
  cancelOrder: undefined,
  answers: [],
  messages: [],
  refusal: undefined,
  storage: undefined,
  dependencies: undefined,
  sinceWriteMs: Infinity,
  ...change,
});

export const outcome = (result: 'Succeeded' | 'Failed', failure?: FailureClass): AgentTaskStatus => ({
  ...working,
  run: { ...working.run!, outcome: { result, reason: 'Because', ...(failure === undefined ? {} : { class: failure }) } },
});
export const closed = (failure: FailureClass, count = 1, endedAt = ago(0)): AgentTaskStatus => ({
  ...working,
  assignment: { ...assignment, attempt: count, directive: 'Quiesce' },
  attempts: Array.from({ length: count }, (_, at) => ({ number: at + 1, startedAt: ago(100), endedAt, class: failure, reason: 'Because' })),
});
