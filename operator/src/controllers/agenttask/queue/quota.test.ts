import { findCondition, type Condition } from '@agentfleet/kube';
import type { AgentTask, AgentTaskStatus } from '@agentfleet/protocol/api';
import { describe, expect, test } from 'vitest';
import type { ResourceFlavor, Workload } from '../../../runtime/resources.ts';
import { evictionMs } from '../approvals.ts';
import { decide } from '../decide.ts';
import { podSetOf, queueLabel, type QuotaView } from './quota.ts';
import { sandboxPod } from '../sandbox/pod.ts';
import type { Snapshot } from '../facts/snapshot.ts';
import { ago, assignment, clock, closed, gone, now, outcome, podOf, snapshotOf, taskOf, working } from '../testing/snapshots.ts';

const podSet = podSetOf(
  sandboxPod({ name: '', namespace: 'team', sandboxImage: 'keeper:1', toolsImage: 'tools:1', clients: [], issuer: '' }),
);
const flavors: readonly ResourceFlavor[] = [
  { apiVersion: 'v1', kind: 'ResourceFlavor', metadata: { name: 'any' } },
  {
    apiVersion: 'v1',
    kind: 'ResourceFlavor',
    metadata: { name: 'spot' },
    spec: { nodeLabels: { pool: 'spot' }, tolerations: [{ key: 'spot', operator: 'Exists' }] },
  },
];

const said = (type: string, status: Condition['status'], reason: string, message = `${reason}.`): Condition => ({
  type,
  status,
  reason,
  message,
  lastTransitionTime: ago(10),
});
const reserved = said('QuotaReserved', 'True', 'QuotaReserved');
const admitted = [reserved, said('Admitted', 'True', 'Admitted')];
const pending = [said('QuotaReserved', 'False', 'Pending', 'insufficient quota for cpu')];
const evicted = [...admitted, said('Evicted', 'True', 'Preempted', 'a workload of higher priority')];
const ready = said('PodsReady', 'True', 'Started');

/** A Workload as this operator makes it, as far as Kueue has come with it. */
function workload(
  conditions: readonly Condition[],
  { flavor = 'any', ...change }: { flavor?: string; spec?: object; annotations?: object } = {},
): Workload {
  const [made] = decide(snapshotOf(labelled(undefined), { quota: view(undefined) }), now).actions;
  if (made?.type !== 'createWorkload') throw new Error('none is made');
  const { metadata, spec } = made.workload;
  return {
    apiVersion: 'kueue.x-k8s.io/v1beta2',
    kind: 'Workload',
    metadata: {
      ...metadata,
      uid: 'w-1',
      resourceVersion: '7',
      generation: 1,
      annotations: { ...metadata.annotations, ...change.annotations },
    },
    spec: { ...spec, active: true, ...change.spec },
    status: { conditions, admission: { podSetAssignments: [{ flavors: { cpu: flavor, memory: flavor } }] } },
  };
}

function view(one: Workload | undefined, change: Partial<QuotaView> = {}): QuotaView {
  return { queue: 'tasks', missing: undefined, workload: one, podSet, flavors, ...change };
}

function labelled(status: AgentTaskStatus | undefined, spec: object = {}): AgentTask {
  const task = taskOf(status, spec);
  return { ...task, metadata: { ...task.metadata, labels: { [queueLabel]: 'tasks' } } };
}

const at = (status: AgentTaskStatus | undefined, quota: QuotaView, change: Partial<Snapshot> = {}, spec: object = {}): Snapshot =>
  snapshotOf(labelled(status, spec), { quota, ...change });

const quiescing = {
  ...working,
  phase: 'Queued',
  assignment: { ...assignment, directive: 'Quiesce' },
  clock: { ...clock, pausedAt: ago(5) },
} as const;
const stored: AgentTaskStatus = { ...quiescing, run: { ...working.run!, quiescedAt: ago(2) } };
const { run: _, ...unreported } = working;
const preparing: AgentTaskStatus = { ...unreported, conditions: [] };
const done: AgentTaskStatus = { ...outcome('Succeeded'), finished: 'true', phase: 'Succeeded' };
const none = { pods: [] };
const warm = { warm: [podOf('warm-1')] };
const long = { ...quiescing, clock: { ...clock, pausedAt: ago(evictionMs / 1000 + 20) } };

/** Phase, reason of Scheduled, and what is done; of a patch what it changes. */
function short(snapshot: Snapshot): readonly unknown[] {
  const { status, actions } = decide(snapshot, now);
  const did = actions.map((action) => {
    if (action.type !== 'patchWorkload') return action.type;
    const { status: change, spec } = action.change as { status?: { admission?: null; conditions: readonly Condition[] }; spec?: object };
    if (change === undefined) return `spec ${JSON.stringify(spec)}`;
    const old = action.workload.status?.conditions ?? [];
    const changed = change.conditions.filter(({ type, status: now }) => findCondition(old, type)?.status !== now);
    return [
      ...(change.admission === null ? ['-admission'] : []),
      ...changed.map(({ type, status: now, reason }) => `${type}=${now}/${reason}`),
    ].join(' ');
  });
  return [status.phase, findCondition(status.conditions, 'Scheduled')?.reason, did.join(', ')];
}

const back = '-admission QuotaReserved=False/Pending Admitted=False/NoReservation Requeued=True/Preempted PodsReady=False/WaitForStart';

test.each<readonly [string, Snapshot, readonly unknown[]]>([
  ['a task asks first', at(undefined, view(undefined)), ['Queued', 'AdmissionPending', 'createWorkload']],
  ['and takes nothing that waits ready', at(undefined, view(workload(pending)), warm), ['Queued', 'AdmissionPending', '']],
  ['quota without the checks is not enough', at(undefined, view(workload([reserved]))), ['Queued', 'AdmissionPending', '']],
  ['admitted it begins', at(undefined, view(workload(admitted))), ['Preparing', 'Assigned', 'createSandbox']],
  ['in what waits ready', at(undefined, view(workload(admitted)), warm), ['Running', 'Assigned', 'claimSandbox']],
  [
    'but not where a flavor says where',
    at(undefined, view(workload(admitted, { flavor: 'spot' })), warm),
    ['Preparing', 'Assigned', 'createSandbox'],
  ],
  ['a flavor that is not there', at(undefined, view(workload(admitted, { flavor: 'new' }))), ['Queued', 'AdmissionPending', '']],
  [
    'dependencies come before quota',
    at(undefined, view(undefined), { dependencies: { pending: ['a'], missing: [], failed: [], cycle: undefined } }),
    ['Queued', 'DependencyPending', ''],
  ],
  ['a refused task asks for none', at(undefined, view(undefined), {}, { profile: 'other' }), ['Pending', 'NotAccepted', '']],
  ['and keeps none', at(undefined, view(workload(admitted)), {}, { profile: 'other' }), ['Pending', 'NotAccepted', 'deleteWorkload']],
  [
    'no pool either',
    at(undefined, view(workload(pending), { podSet: undefined }), { resolution: { pool: undefined, reason: 'PoolNotFound', message: '' } }),
    ['Pending', 'NotAccepted', 'deleteWorkload'],
  ],
  ['a suspended task asks for none', at(undefined, view(undefined), {}, { suspend: true }), ['Suspended', 'Suspended', '']],
  [
    'what the server does not take is reported',
    at(undefined, view(undefined), { refusal: 'exceeded quota' }),
    ['Queued', 'AdmissionPending', ''],
  ],
  [
    'a changed sandbox asks anew',
    at(undefined, view(workload(pending), { podSet: { ...podSet, template: { spec: {} } } })),
    ['Queued', 'AdmissionPending', 'deleteWorkload'],
  ],
  [
    'not while it is worked in',
    at(working, view(workload([...admitted, ready]), { podSet: { ...podSet, template: { spec: {} } } })),
    ['Running', 'Assigned', ''],
  ],
  [
    'another queue',
    at(undefined, view(workload(pending), { queue: 'other' })),
    ['Queued', 'AdmissionPending', 'spec {"queueName":"other"}'],
  ],
  ['not once quota is reserved', at(working, view(workload([...admitted, ready]), { queue: 'other' })), ['Running', 'Assigned', '']],
  [
    'another priority',
    at(working, view(workload([...admitted, ready])), {}, { priority: 9 }),
    ['Running', 'Assigned', 'spec {"priority":9}'],
  ],
  ['no queue any more', at(working, view(workload(admitted), { queue: undefined })), ['Running', 'Assigned', 'deleteWorkload']],
  [
    'without a sandbox that answers its pods are not ready',
    at(preparing, view(workload(admitted)), { pods: [podOf('one-1', { status: { containerStatuses: [] } })] }),
    ['Preparing', 'Assigned', ''],
  ],
  ['with one they are', at(working, view(workload(admitted))), ['Running', 'Assigned', 'PodsReady=True/Started']],
  ['evicted it comes to rest', at(working, view(workload(evicted))), ['Queued', 'Evicted', '']],
  ['and keeps its quota meanwhile', at(quiescing, view(workload(evicted))), ['Queued', 'Evicted', '']],
  ['stored, its sandbox goes', at(stored, view(workload(evicted))), ['Queued', 'Evicted', 'deleteSandbox']],
  ['then its quota', at(stored, view(workload(evicted)), none), ['Queued', 'Evicted', back]],
  [
    'no worker has forever',
    at(long, view(workload([...admitted, { ...evicted[2]!, lastTransitionTime: ago(evictionMs / 1000 + 20) }]))),
    ['Queued', 'Evicted', 'deleteSandbox'],
  ],
  [
    'nor keeps one that is lost the sandbox',
    at(quiescing, view(workload(evicted)), { assigned: gone }),
    ['Queued', 'Evicted', 'deleteSandbox'],
  ],
  ['it waits for its next turn', at(stored, view(workload([...pending, evicted[2]!])), none), ['Queued', 'Evicted', '']],
  ['and goes on', at(stored, view(workload(admitted)), none), ['Preparing', 'Assigned', 'createSandbox']],
  ['between attempts it stops too', at(closed('CheckFailed'), view(workload(evicted))), ['Queued', 'Evicted', 'deleteSandbox']],
  ['its Workload was deleted', at(working, view(undefined)), ['Queued', 'AdmissionPending', '']],
  ['it asks again when it holds nothing', at(stored, view(undefined), none), ['Queued', 'AdmissionPending', 'createWorkload']],
  [
    'suspended by its owner',
    at(working, view(workload([...admitted, ready])), {}, { suspend: true }),
    ['Suspended', 'Suspended', 'spec {"active":false}'],
  ],
  [
    'and resumed',
    at(stored, view(workload(pending, { spec: { active: false }, annotations: { 'agentfleet.dev/suspended': 'true' } })), none),
    ['Queued', 'AdmissionPending', 'spec {"active":true}'],
  ],
  [
    'stopped by somebody else it stays stopped',
    at(stored, view(workload(pending, { spec: { active: false } })), none),
    ['Queued', 'AdmissionPending', ''],
  ],
  [
    'an end gives nothing back before its sandbox goes',
    at(done, view(workload([...admitted, ready]))),
    ['Succeeded', undefined, 'deleteSandbox'],
  ],
  ['then all', at(done, view(workload([...admitted, ready])), none), ['Succeeded', undefined, 'Finished=True/Succeeded']],
  ['once', at(done, view(workload([...admitted, said('Finished', 'True', 'Succeeded')])), none), ['Succeeded', undefined, '']],
  ['Kueue is off', at(undefined, view(undefined, { missing: 'NotEnabled' })), ['Pending', 'NotAccepted', '']],
  ['Kueue is not there', at(undefined, view(undefined, { missing: 'NotInstalled' })), ['Pending', 'NotAccepted', '']],
  ['what runs goes on without it', at(working, view(undefined, { missing: 'NotEnabled' })), ['Running', 'Assigned', '']],
])('Kueue: %s', (_, snapshot, expected) => {
  expect(short(snapshot)).toEqual(expected);
});

const messages: readonly (readonly [QuotaView, string])[] = [
  [view(undefined, { missing: 'NotEnabled' }), 'set kueue.enabled of the chart, or take the label away'],
  [view(undefined, { missing: 'NotInstalled' }), 'install Kueue 0.15 or later, or take the label away'],
  [view(undefined, { queue: 'Team_A' }), 'correct it with a name of a-z, 0-9 and -'],
  [view(workload(pending)), 'LocalQueue tasks of Kueue has not admitted Workload one-55d89d518aaa9d80: insufficient quota for cpu'],
  [view(workload(evicted)), '(Preempted: a workload of higher priority)'],
];

describe('a gated task', () => {
  test.each(messages)('says why: %#', (quota, words) => {
    const { status } = decide(at(undefined, quota), now);
    expect(findCondition(status.conditions, 'Ready')?.message).toContain(words);
  });

  test('is looked at again within half a minute where Kueue was not there, and as rarely as others that are refused for its name', () => {
    expect(decide(at(undefined, view(undefined, { missing: 'NotInstalled' })), now).requeueAfterMs).toBe(30_000);
    expect(decide(at(undefined, view(undefined, { queue: 'Team_A' })), now).requeueAfterMs).toBe(300_000);
  });

  test('has a clock that begins with its work and stands still while it is evicted', () => {
    expect(decide(at(undefined, view(workload(pending))), now).status.clock).toBeUndefined();
    const stopped = decide(at(working, view(workload(evicted))), now);
    expect(stopped.status).toMatchObject({ clock: { pausedAt: ago(0) }, assignment: { directive: 'Quiesce' } });
    expect(stopped.events.map(({ reason }) => reason)).toEqual(['Evicted']);
    expect(stopped.requeueAfterMs).toBe(evictionMs - 10_000);
    expect(decide(at(stored, view(workload(admitted)), none), now).status.clock).toEqual({ startedAt: clock.startedAt, pausedSeconds: 5 });
  });

  test('asks for what its sandbox asks for', () => {
    expect(JSON.stringify(podSet)).not.toContain('AGENTFLEET');
    expect(podSet.template.spec).toMatchObject({
      containers: [{ resources: { requests: { cpu: '50m' } } }, { resources: { requests: { cpu: '100m' } } }],
    });
  });
});

test('a task that Kueue has not admitted is left alone for minutes, as its Workload is watched; a flavor is not', () => {
  expect(decide(at(undefined, view(workload(pending))), now).requeueAfterMs).toBe(300_000);
  expect(decide(at(undefined, view(workload(admitted, { flavor: 'new' }))), now).requeueAfterMs).toBe(15_000);
});
