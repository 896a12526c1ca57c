import { findCondition } from '@agentfleet/kube';
import type { AgentTaskStatus } from '@agentfleet/protocol/api';
import { describe, expect, test } from 'vitest';
import { emptyBook } from '../../pools/spending.ts';
import { perNamespaceOf } from '../../pools/resolve.ts';
import { decide } from './decide.ts';
import type { Decision, Snapshot } from './facts/snapshot.ts';
import { maxStartFailures } from './verdict.ts';
import { waitingStatus } from './testing/kubelet.ts';
import { newPool } from './testing/objects.ts';
import { ago, assignment, clock, gone, now, outcome, podOf, snapshotOf, taskOf, worker, working } from './testing/snapshots.ts';

const pool = newPool({ sandbox: { startTimeoutSeconds: 30 } });
const starting: AgentTaskStatus = { assignment, finished: 'false', phase: 'Preparing', conditions: [] };
const noImage = waitingStatus('ImagePullBackOff', 'no such image: nope:1');
const noNode = {
  phase: 'Pending',
  containerStatuses: [],
  conditions: [{ type: 'PodScheduled', status: 'False', reason: 'Unschedulable', message: '0/3 nodes' }],
};
const silent = { phase: 'Pending', containerStatuses: [] };

/** An attempt whose sandbox was made so long ago, in seconds. */
const young = (status: object, seconds: number, change: Partial<Snapshot> = {}, task = taskOf(starting)): Snapshot =>
  snapshotOf(task, { pods: [podOf('one-1', { status, metadata: { creationTimestamp: ago(seconds) } })], resolution: { pool }, ...change });

const failures = (count: number, endedAt = ago(600)): NonNullable<AgentTaskStatus['attempts']> =>
  Array.from({ length: count }, (_, at) => ({
    number: at + 1,
    startedAt: ago(100),
    endedAt,
    class: 'Infrastructure',
    reason: 'ImagePullBackOff',
    started: false,
  }));

/** What the printer columns and a program see. */
function seen({ status, actions, requeueAfterMs }: Decision): readonly unknown[] {
  const of = (type: string): string | undefined => findCondition(status.conditions, type)?.reason;
  const did = actions.map((action) => ('pod' in action ? `${action.type} ${action.pod.metadata.name}` : action.type));
  return [status.phase, of('Ready'), of('SandboxReady'), status.assignment?.directive, ...did, (requeueAfterMs ?? 0) / 1000];
}

const starts: readonly (readonly [string, Snapshot, readonly unknown[]])[] = [
  ['in time, nothing is done', young(noImage, 29), ['Preparing', 'ImagePullBackOff', 'ImagePullBackOff', 'Run', 1]],
  ['one that is only slow is told as preparing', young(silent, 29), ['Preparing', 'Preparing', 'Starting', 'Run', 1]],
  ['without an image', young(noImage, 30), ['Queued', 'ImagePullBackOff', 'ImagePullBackOff', 'Quiesce', 'deleteSandbox one-1', 10]],
  ['without a node', young(noNode, 30), ['Queued', 'Unschedulable', 'Unschedulable', 'Quiesce', 'deleteSandbox one-1', 10]],
  ['without a word', young(silent, 30), ['Queued', 'SandboxStartTimeout', 'SandboxStartTimeout', 'Quiesce', 'deleteSandbox one-1', 10]],
  [
    'that went by itself',
    young({ phase: 'Failed', reason: 'OutOfcpu' }, 1),
    ['Queued', 'SandboxLost', 'SandboxLost', 'Quiesce', 'deleteSandbox one-1', 10],
  ],
  [
    'the operator died before it deleted the sandbox',
    young(noImage, 60, {}, taskOf({ ...starting, attempts: failures(1, ago(4)) })),
    ['Queued', 'ImagePullBackOff', 'ImagePullBackOff', 'Quiesce', 'deleteSandbox one-1', 6],
  ],
  [
    'the same without a pause: what did not start is not used again',
    young(noImage, 60, {}, taskOf({ ...starting, attempts: failures(1) }, { attempts: { backoff: { seconds: 0 } } })),
    ['Queued', 'ImagePullBackOff', 'ImagePullBackOff', 'Quiesce', 'deleteSandbox one-1', 15],
  ],
  [
    'the last of five ends the task, and no worker is asked to undo anything',
    young(
      noImage,
      30,
      {},
      taskOf({ ...starting, assignment: { ...assignment, attempt: 5 }, attempts: failures(4) }, { rollback: { whenFailed: 'Keep' } }),
    ),
    ['Failed', 'ImagePullBackOff', 'Finished', 'Run', 'deleteSandbox one-1', 0],
  ],
  [
    'a suspended task gives it back too, because no worker can bring it to rest',
    young(silent, 30, {}, taskOf(starting, { suspend: true })),
    ['Suspended', 'Suspended', 'Starting', 'Quiesce', 'deleteSandbox one-1', 0],
  ],
  [
    'a suspended task whose sandbox may still start waits for it',
    young(silent, 29, {}, taskOf(starting, { suspend: true })),
    ['Suspended', 'Suspended', 'Starting', 'Quiesce', 1],
  ],
  [
    'one that answered once may restart for long',
    young(silent, 9000, {}, taskOf({ ...starting, clock, assignment: { ...assignment, sandboxReadyAt: ago(90) } })),
    ['Preparing', 'KeeperNotReady', 'KeeperNotReady', 'Run', 3500],
  ],
  [
    'is what is shown while a cap of spending keeps the next attempt from beginning',
    snapshotOf(taskOf({ ...starting, assignment: { ...assignment, directive: 'Quiesce' }, attempts: failures(1) }), {
      pods: [],
      prepared: true,
      workers: [worker('w-1')],
      resolution: { pool: newPool({ policy: { maxBudget: { tokens: 10 } }, limits: { spending: { windowSeconds: 60, tokens: 10 } } }) },
      spending: { book: { ...emptyBook, held: [{ uid: 'u-2', namespace: 'team', name: 'b', attempt: 1, tokens: 5, micros: 0 }] } },
    }),
    ['Queued', 'ImagePullBackOff', 'ImagePullBackOff', 'Quiesce', 60],
  ],
  [
    'another worker gets the sandbox that starts',
    young(silent, 10, { assigned: gone, workers: [worker('w-2')] }),
    ['Preparing', 'Preparing', 'Starting', 'Run', 25],
  ],
];

describe('a sandbox that does not start', () => {
  test.each(starts)('%s', (_, snapshot, expected) => {
    const decision = decide(snapshot, now);
    expect(seen(decision)).toEqual(expected);
    if (decision.status.finished === 'true') return;
    const holds = decision.status.assignment?.directive === 'Run';
    expect(findCondition(decision.status.conditions, 'Scheduled')?.status).toBe(holds ? 'True' : 'False');
  });

  test('is reported with its bound, what keeps it, and a cure, until another one is there', () => {
    const { status } = decide(young(noImage, 30), now);
    const said =
      /within 30 s \(spec\.sandbox\.startTimeoutSeconds of ExpertPool platform\/coding\): container tools.*no such image: nope:1; create the task again with another spec\.sandbox\.image/;
    expect(findCondition(status.conditions, 'SandboxReady')?.message).toMatch(said);
    const later = decide(young(noImage, 35, { pods: [] }, taskOf(status)), now + 5000);
    expect([seen(later)[1], seen(later)[2], findCondition(later.status.conditions, 'Ready')?.message]).toEqual([
      'ImagePullBackOff',
      'ImagePullBackOff',
      expect.stringMatching(said) as string,
    ]);
    expect(later.written).toBe(false);
  });

  test('counts in a row, and no more once something was begun', () => {
    const ends = (attempts: NonNullable<AgentTaskStatus['attempts']>): string | undefined => {
      const number = attempts.length + 1;
      const task = taskOf({ ...starting, clock, assignment: { ...assignment, attempt: number }, attempts });
      return decide(young(noImage, 30, {}, task), now).status.phase;
    };
    const began = { number: 9, startedAt: ago(100), endedAt: ago(90), class: 'Infrastructure', reason: 'WorkerLost' } as const;
    const usage = working.run!.usage!;
    expect(ends(failures(maxStartFailures - 1))).toBe('Failed');
    expect(ends(failures(maxStartFailures - 2))).toBe('Queued');
    expect(ends([...failures(3), { ...began, usage }, ...failures(1)])).toBe('Queued');
    // A worker that was lost before it reported anything proves no start.
    expect(ends([...failures(3), began, ...failures(1)])).not.toBe('Queued');
  });
});

describe('a failure of the infrastructure', () => {
  const failed = { ...outcome('Failed', 'Infrastructure'), assignment: { ...assignment, sandboxReadyAt: ago(90) } };
  const early = { ...failed, run: { ...failed.run!, snapshots: undefined } } as unknown as AgentTaskStatus;

  test.each([
    ['before the first snapshot gives the sandbox back', early, false, ['deleteSandbox one-1']],
    ['after it keeps what was done', failed, undefined, []],
    [
      'after an attempt that worked keeps what that did',
      { ...early, assignment: { ...assignment, attempt: 2 }, attempts: [{ number: 1, startedAt: ago(99) }] },
      undefined,
      [],
    ],
  ] as const)('%s', (_, status, started, did) => {
    const decision = decide(snapshotOf(taskOf(status as AgentTaskStatus, { attempts: { max: 1 } })), now);
    expect([decision.status.attempts?.at(-1)?.started, decision.actions.map((action) => `${action.type} one-1`)]).toEqual([started, did]);
  });

  test('does not go on for ever although none is charged', () => {
    const status = { ...early, assignment: { ...assignment, attempt: 5 }, attempts: failures(4), run: { ...early.run!, attempt: 5 } };
    const { phase, conditions } = decide(snapshotOf(taskOf(status, { attempts: { max: 1 } })), now).status;
    expect([phase, findCondition(conditions, 'Succeeded')?.message]).toEqual([
      'Failed',
      expect.stringContaining('5 attempts in a row') as string,
    ]);
  });
});

describe('the clock of a task', () => {
  test.each([
    ['stands before the sandbox answers', young(silent, 1), undefined],
    ['starts when it does', young({}, 1), { startedAt: ago(0), pausedSeconds: 0 }],
    [
      'starts at once in a sandbox that waited',
      snapshotOf(taskOf(undefined), { warm: [podOf('warm-1')] }),
      { startedAt: ago(0), pausedSeconds: 0 },
    ],
    ['does not start with an assignment', snapshotOf(taskOf(undefined)), undefined],
    ['goes on while the next sandbox starts', young(silent, 1, {}, taskOf({ ...starting, clock })), clock],
  ] as const)('%s', (_, snapshot, expected) => {
    expect(decide(snapshot, now).status.clock).toEqual(expected);
  });

  test('is bounded by the pool: what asks for more is refused, what is raised later ends', () => {
    const capped = { resolution: { pool: newPool({ policy: { maxDeadlineSeconds: 90 } }) } };
    const refused = decide(snapshotOf(taskOf(undefined, { deadlineSeconds: 91 }), capped), now).status;
    expect(findCondition(refused.conditions, 'Accepted')).toMatchObject({
      reason: 'DeadlineTooLong',
      message: expect.stringContaining('spec.deadlineSeconds is 91, and ExpertPool platform/coding allows 90 at most') as string,
    });
    expect(decide(snapshotOf(taskOf(undefined, { deadlineSeconds: 90 }), capped), now).status.phase).toBe('Preparing');
    const ended = decide(snapshotOf(taskOf(working, { deadlineSeconds: 9000 }), capped), now).status;
    expect(findCondition(ended.conditions, 'Succeeded')).toMatchObject({
      reason: 'DeadlineExceeded',
      message: expect.stringContaining('spec.policy.maxDeadlineSeconds (90) of ExpertPool platform/coding') as string,
    });
  });
});

describe('the queue', () => {
  const patient = newPool({ limits: { queueTimeoutSeconds: 60 } });
  const full = { resolution: { pool: patient }, workers: [worker('w-1', { load: 2 })] };
  const queued = (seconds: number, more: Partial<AgentTaskStatus> = {}): AgentTaskStatus => ({
    ...decide(snapshotOf(taskOf(undefined), full), now - seconds * 1000).status,
    ...more,
  });

  test('holds a task no longer than the pool allows, and reports for what it waited', () => {
    const first = decide(snapshotOf(taskOf(undefined), full), now);
    expect([first.status.queue, first.requeueAfterMs]).toEqual([{ position: 0, since: ago(0) }, 15_000]);
    expect(decide(snapshotOf(taskOf(queued(59)), full), now)).toMatchObject({ status: { phase: 'Queued' }, requeueAfterMs: 1000 });
    const { status } = decide(snapshotOf(taskOf(queued(60)), full), now);
    expect(findCondition(status.conditions, 'Ready')).toMatchObject({
      reason: 'QueueTimeout',
      message: expect.stringContaining('all slots are taken') as string,
    });
  });

  test('also one whose sandbox a quota refuses, which is reported as such', () => {
    const refusal = 'pods "one-1" is forbidden: exceeded quota: compute, requested: pods=1, used: pods=10, limited: pods=10';
    const { status } = decide(snapshotOf(taskOf(undefined), { refusal, resolution: { pool: patient } }), now);
    expect([status.phase, findCondition(status.conditions, 'Ready')?.reason, status.queue]).toEqual([
      'Queued',
      'ResourceQuotaExceeded',
      { since: ago(0) },
    ]);
  });

  test('counts neither a pause nor other tasks that have to end first', () => {
    const suspended = decide(snapshotOf(taskOf(queued(99), { suspend: true }), full), now).status;
    expect([suspended.phase, suspended.queue]).toEqual(['Suspended', undefined]);
    const dependencies = { pending: ['other'], missing: [], failed: [], cycle: undefined };
    expect(decide(snapshotOf(taskOf(undefined), { ...full, dependencies }), now).status.queue).toBeUndefined();
  });

  test.each([
    [Infinity, { workers: { replicas: 2, concurrency: 8 }, allowedNamespaces: { from: 'Same' } }],
    [12, { workers: { replicas: 2, concurrency: 8 } }],
    [3, { workers: { replicas: 1, concurrency: 4 } }],
    [3, { workers: { replicas: 1, concurrency: 8 }, limits: { maxRunning: 4 } }],
    [Infinity, { workers: { replicas: 1, concurrency: 3 } }],
    [Infinity, { workers: { replicas: 0, concurrency: 8 } }],
    [8, { workers: { replicas: 1, concurrency: 8 }, limits: { perNamespace: 8 } }],
  ])('gives one namespace %d slots of %j', (most, spec) => {
    expect(perNamespaceOf(newPool(spec))).toBe(most);
  });
});
