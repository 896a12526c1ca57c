import { timestamp, type KubeObject } from '@agentfleet/kube';
import { labels } from '@agentfleet/protocol/pool';
import { newPool, newTask } from '../../../../operator/src/controllers/agenttask/testing/objects.ts';

/** Namespaces of the bench; the pool is `coding`. */
export const namespaces = { system: 'agentfleet-system', pools: 'platform', tasks: 'team' } as const;

/** Tasks that one worker runs at most. */
export const slots = 64;

type Named = KubeObject & { readonly spec?: object; readonly status?: object };

const goal = 'Make the failing tests of the parser pass without a change of its public functions. '.repeat(6);
const usage = {
  tokensIn: 41_234,
  tokensOut: 9_876,
  toolCalls: 57,
  cpuMillis: 81_234,
  wallSeconds: 611,
  candidates: 31,
  vetoes: 2,
  backtracks: 1,
};

/** Returns a task that no controller has processed yet, with the defaults of the API server. */
export function freshTask(name: string): Named {
  const checks = ['unit', 'lint', 'types'].map((check) => ({ name: check, command: ['npm', 'run', check] }));
  return newTask(name, { goal, checks, deadlineSeconds: 86_400 });
}

/** The pool, with room for so many tasks at once, all of one namespace. */
export function poolFor(live: number): Named {
  return newPool({ workers: { replicas: workersFor(live), concurrency: slots }, limits: { perNamespace: Math.max(1, live) } });
}

/** Returns the number of workers that so many tasks take. Pure. */
export function workersFor(live: number): number {
  return Math.max(1, Math.ceil(live / slots));
}

/** A task that ended well an hour ago, with all that worker and operator have reported of it. */
export function finishedTask(name: string, now: number): Named {
  const [began, ended] = [timestamp(now - 4_200_000), timestamp(now - 3_600_000)];
  const said = (type: string, status: string, reason: string, message: string): object => {
    return { type, status, reason, message, lastTransitionTime: ended, observedGeneration: 1 };
  };
  const status = {
    observedGeneration: 1,
    phase: 'Succeeded',
    finished: 'true',
    conditions: [
      said('Ready', 'True', 'Succeeded', '3 of 3 checks passed in a fresh container'),
      said('Accepted', 'True', 'Accepted', 'ExpertPool platform/coding takes the task'),
      said('Scheduled', 'True', 'Assigned', 'worker platform/w-0 has the task'),
      said('SandboxReady', 'False', 'Finished', 'the sandbox is deleted'),
      said('Succeeded', 'True', 'ChecksPassed', '3 of 3 checks passed in a fresh container'),
      said('Finished', 'True', 'Succeeded', 'the task has ended'),
    ],
    clock: { startedAt: began, pausedSeconds: 0 },
    assignment: {
      attempt: 1,
      epoch: 1,
      worker: 'w-0',
      workerNamespace: namespaces.pools,
      sandbox: `${name}-1`,
      warm: false,
      since: began,
      directive: 'Run',
    },
    attempts: [{ number: 1, result: 'Succeeded', reason: 'ChecksPassed', startedAt: began, endedAt: ended, worker: 'w-0', usage }],
    totals: { usage },
    run: { attempt: 1, epoch: 1, usage, outcome: { result: 'Succeeded', reason: 'ChecksPassed' } },
  };
  return { ...freshTask(name), status };
}

/** A worker of the pool that is ready. Pure. */
export function workerPod(name: string): Named {
  const own = { [labels.component]: 'worker', [labels.pool]: 'coding' };
  const status = { phase: 'Running', conditions: [{ type: 'Ready', status: 'True' }] };
  return {
    metadata: { name, namespace: namespaces.pools, labels: own },
    spec: { nodeName: 'node-0', serviceAccountName: 'coding-worker', containers: [] },
    status,
  };
}

/** Returns the status that a kubelet reports of a sandbox whose containers run and are ready. Pure. */
export function readyStatus(): object {
  const container = (name: string): object => ({ name, ready: true, restartCount: 0, state: { running: { startedAt: timestamp(0) } } });
  const conditions = ['Ready', 'PodScheduled', 'ContainersReady'].map((type) => ({ type, status: 'True' }));
  return { phase: 'Running', podIP: '10.0.0.1', conditions, containerStatuses: ['keeper', 'tools'].map(container) };
}
