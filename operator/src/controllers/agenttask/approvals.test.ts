import { findCondition } from '@agentfleet/kube';
import { maxShownApprovals, type AgentTaskOrder, type AgentTaskStatus, type Approval } from '@agentfleet/protocol/api';
import { describe, expect, test } from 'vitest';
import { decide } from './decide.ts';
import type { Decision, Snapshot } from './facts/snapshot.ts';
import { Bed } from './testing/bed.ts';
import { condition, finish, reported } from './testing/look.ts';
import { newTask } from './testing/objects.ts';
import { obedient, playWorkers, succeeds, works, type Script } from './testing/scriptedWorker.ts';
import { ago, gone, now, snapshotOf, taskOf, worker, working } from './testing/snapshots.ts';

const act = (digit: string): string => `sha256:${digit.repeat(64)}`;
const action = act('a');
const pending = { action, summary: 'git push to main', expires: ago(-900) };
const waiting: AgentTaskStatus = { ...working, run: { ...working.run!, pendingApproval: pending } };

const order = (name: string, spec: Partial<AgentTaskOrder['spec']> = {}, created = ago(1)): AgentTaskOrder => ({
  apiVersion: 'agentfleet.dev/v1alpha1',
  kind: 'AgentTaskOrder',
  metadata: { name, namespace: 'team', creationTimestamp: created },
  spec: { taskRef: { name: 'one' }, type: 'Approve', action, requester: 'ann', ...spec },
});
const approved: Approval = { action, decision: 'Approved', orderRef: { name: 'yes' }, requester: 'ann', at: ago(0) };

function effect({ status, requeueAfterMs, events }: Decision): Record<string, unknown> {
  return {
    phase: status.phase,
    directive: status.assignment?.directive,
    stands: status.clock?.pausedAt !== undefined,
    waits: findCondition(status.conditions, 'AwaitingApproval')?.status,
    decided: (status.approvals ?? []).map(
      ({ decision, requester, orderRef }) => `${decision} ${requester ?? '-'} ${orderRef?.name ?? '-'}`,
    ),
    reported: events.map(({ reason }) => reason),
    in: (requeueAfterMs ?? 0) / 1000,
  };
}

const calm = { phase: 'Running', directive: 'Run', stands: false, waits: undefined, in: 3500 };
const asks = { phase: 'AwaitingApproval', directive: 'Run', stands: true, waits: 'True', in: 900 };
const long = { clock: { startedAt: ago(4000), pausedSeconds: 0 } };

const table: readonly (readonly [string, Snapshot, Record<string, unknown>])[] = [
  ['an act that waits stops the clock', snapshotOf(taskOf(waiting)), { ...asks, decided: [], reported: ['AwaitingApproval'] }],
  [
    'an order that names it decides',
    snapshotOf(taskOf(waiting), { answers: [order('yes')] }),
    { ...calm, decided: ['Approved ann yes'], reported: ['Approved'] },
  ],
  [
    'the first order decides',
    snapshotOf(taskOf(waiting), { answers: [order('a', { type: 'Reject', requester: 'bob' }), order('b')] }),
    { ...calm, decided: ['Rejected bob a'], reported: ['Rejected'] },
  ],
  ['an order about another act does not', snapshotOf(taskOf(waiting), { answers: [order('no', { action: act('b') })] }), asks],
  [
    'the end of its time rejects it',
    snapshotOf(taskOf({ ...waiting, run: { ...waiting.run!, pendingApproval: { ...pending, expires: ago(0) } } })),
    { ...calm, decided: ['Rejected - -'], reported: ['Rejected'] },
  ],
  [
    'an order from before the end of its time counts, one from after it does not',
    snapshotOf(taskOf({ ...waiting, run: { ...waiting.run!, pendingApproval: { ...pending, expires: ago(5) } } }), {
      answers: [order('late', {}, ago(4))],
    }),
    { decided: ['Rejected - -'] },
  ],
  [
    'an order in time counts although it is seen late',
    snapshotOf(taskOf({ ...waiting, run: { ...waiting.run!, pendingApproval: { ...pending, expires: ago(5) } } }), {
      answers: [order('yes', {}, ago(5))],
    }),
    { decided: ['Approved ann yes'] },
  ],
  [
    'what is decided is not decided again, and does not wait',
    snapshotOf(taskOf({ ...waiting, approvals: [approved] }), { answers: [order('no', { type: 'Reject' })] }),
    { ...calm, decided: ['Approved ann yes'], reported: [] },
  ],
  [
    'the report of another epoch waits for nobody, and its time rejects nothing',
    snapshotOf(taskOf({ ...waiting, run: { ...waiting.run!, epoch: 9, pendingApproval: { ...pending, expires: ago(5) } } })),
    { ...calm, decided: [] },
  ],
  [
    'a person may decide while no worker waits: the next one will obey',
    snapshotOf(taskOf({ ...waiting, run: { ...waiting.run!, epoch: 9 } }), { answers: [order('yes')] }),
    { ...calm, decided: ['Approved ann yes'] },
  ],
  [
    'a lost worker ends the attempt, and what was decided stays',
    snapshotOf(taskOf({ ...waiting, approvals: [approved] }), { assigned: gone, workers: [gone, worker('w-2')] }),
    { directive: 'Run', decided: ['Approved ann yes'], stands: false },
  ],
  [
    'a suspended task waits for nobody, and its time rejects nothing',
    snapshotOf(taskOf({ ...waiting, run: { ...waiting.run!, pendingApproval: { ...pending, expires: ago(5) } } }, { suspend: true })),
    { phase: 'Suspended', directive: 'Quiesce', stands: true, waits: undefined, decided: [] },
  ],
  ['a cancellation does not wait', snapshotOf(taskOf(waiting, { cancel: 'Rollback' })), { phase: 'RollingBack', waits: undefined }],
  ['neither does a stop', snapshotOf(taskOf(waiting, { cancel: 'Stop' })), { phase: 'Running', directive: 'Stop', waits: undefined }],
  [
    'what was late before it asked is late',
    snapshotOf(taskOf({ ...waiting, ...long }, { attempts: { max: 1 } })),
    { phase: 'RollingBack', waits: undefined },
  ],
  [
    'a clock that stands is never late',
    snapshotOf(taskOf({ ...waiting, clock: { ...long.clock, pausedAt: ago(3000) } })),
    { ...asks, reported: ['AwaitingApproval'] },
  ],
];

describe('an act that waits for a person', () => {
  test.each(table)('%s', (_, snapshot, expected) => {
    const decision = decide(snapshot, now);
    expect(effect(decision)).toMatchObject(expected);
    // What was written comes to rest: the same look at it decides the same.
    const again = decide({ ...snapshot, task: { ...snapshot.task, status: { ...decision.status, run: snapshot.task.status!.run! } } }, now);
    expect(again.status.approvals).toEqual(decision.status.approvals);
  });

  test('shows what it is and how to answer', () => {
    const { status, requeueAfterMs } = decide(
      snapshotOf(taskOf({ ...waiting, run: { ...waiting.run!, pendingApproval: { ...pending, expires: ago(-7) } } })),
      now,
    );
    const message = findCondition(status.conditions, 'AwaitingApproval')?.message;
    expect(message).toContain(`git push to main; answer with "kubectl fleet approve one -n team --action ${action.slice(7, 23)}"`);
    expect(requeueAfterMs).toBe(7000);
  });

  test('the time that it waited is no time of the task', () => {
    const status = { ...waiting, clock: { startedAt: ago(100), pausedSeconds: 3, pausedAt: ago(60) }, approvals: [approved] };
    expect(decide(snapshotOf(taskOf(status)), now).status.clock).toEqual({ startedAt: ago(100), pausedSeconds: 63 });
  });

  test('the oldest decisions give way', () => {
    const approvals = Array.from({ length: maxShownApprovals }, (_, at) => ({ ...approved, action: act((at % 10).toString()) }));
    const shown = decide(snapshotOf(taskOf({ ...waiting, approvals }), { answers: [order('yes')] }), now).status.approvals;
    expect(shown).toHaveLength(maxShownApprovals);
    expect(shown?.at(-1)).toEqual(approved);
  });

  test('a rejection that ended the attempt is followed as the task defines', () => {
    const failed = { ...waiting.run!, outcome: { result: 'Failed', class: 'ApprovalRejected', reason: 'NothingElseToTry' } } as const;
    const status = { ...waiting, run: failed, approvals: [{ ...approved, decision: 'Rejected' as const }] };
    expect(decide(snapshotOf(taskOf(status)), now).status.phase).toBe('RollingBack');
    const rules = [{ class: 'ApprovalRejected', action: 'RollbackAndRetry' }];
    expect(decide(snapshotOf(taskOf(status, { attempts: { rules } })), now).status.phase).toBe('Queued');
  });
});

/** Asks for each of the acts in turn, obeys, and ends when there is no other. */
function asking(bed: Bed, actions: readonly string[], seconds: number): Script {
  return obedient((assignment, task) => {
    const approvals = task.status?.approvals ?? [];
    if (approvals.some(({ decision }) => decision === 'Rejected'))
      return { ...works, outcome: { result: 'Failed', class: 'ApprovalRejected', reason: 'ApprovalRejected' } };
    const next = actions.find((action) => !approvals.some((approval) => approval.action === action));
    if (next === undefined) return succeeds(assignment, task);
    const expires = new Date(bed.clock.now() + seconds * 1000).toISOString().replace(/\.\d+/, '');
    return { ...works, pendingApproval: { action: next, summary: `do ${next.slice(7, 9)}`, expires } };
  });
}

const orderTo = (name: string, type: 'Approve' | 'Reject', about: string) => ({
  metadata: { name, namespace: 'team' },
  spec: { taskRef: { name: 'one' }, type, action: about, requester: 'ann' },
});

describe('approvals in the life of a task', () => {
  const waits = (bed: Bed) => (): boolean => reported(bed.task('one'), 'AwaitingApproval') === 'True/AwaitingApproval';
  const state = (bed: Bed, name: string): string | undefined => bed.orders().find(({ metadata }) => metadata.name === name)?.status?.state;

  test('each act waits for its order, no clock runs, and the orders are done', async () => {
    await using bed = await Bed.start();
    playWorkers(bed, asking(bed, [act('a'), act('b')], 900));
    await bed.create(newTask('one', { deadlineSeconds: 60 }));
    await bed.until('it waits', waits(bed));
    await bed.pass(300);
    expect(bed.task('one').status?.phase).toBe('AwaitingApproval');
    const before = bed.writes.length;
    await bed.pass(60);
    expect(bed.writes.length).toBe(before);
    await bed.order(orderTo('first', 'Approve', act('a')));
    await bed.until('the next one waits', () => waits(bed)() && bed.task('one').status?.run?.pendingApproval?.action === act('b'));
    await bed.order(orderTo('second', 'Approve', act('b')));
    const task = await finish(bed);
    expect(task.status).toMatchObject({
      phase: 'Succeeded',
      approvals: [
        { action: act('a'), decision: 'Approved', requester: 'ann', orderRef: { name: 'first' } },
        { action: act('b'), decision: 'Approved', requester: 'ann', orderRef: { name: 'second' } },
      ],
    });
    expect(task.status?.clock?.pausedSeconds).toBeGreaterThanOrEqual(360);
    expect(condition(task, 'AwaitingApproval')).toBeUndefined();
    await bed.until('the orders are done', () => state(bed, 'first') === 'Done' && state(bed, 'second') === 'Done');
  });

  test('who comes second reads who was first, and an order for nothing is refused', async () => {
    await using bed = await Bed.start();
    playWorkers(bed, asking(bed, [act('a')], 900));
    await bed.create(newTask('one', { attempts: { max: 1 } }));
    await bed.until('it waits', waits(bed));
    await bed.order(orderTo('first', 'Reject', act('a')));
    await bed.until('it is decided', () => bed.task('one').status?.approvals?.length === 1);
    await bed.order(orderTo('second', 'Approve', act('a')));
    await bed.order(orderTo('third', 'Approve', act('c')));
    const task = await finish(bed);
    expect([task.status?.phase, reported(task, 'Succeeded'), reported(task, 'RolledBack')]).toEqual([
      'Failed',
      'False/ApprovalRejected',
      'True/Restored',
    ]);
    await bed.until('all are answered', () => ['first', 'second', 'third'].every((name) => state(bed, name) !== undefined));
    expect([state(bed, 'first'), state(bed, 'second'), state(bed, 'third')]).toEqual(['Done', 'Refused', 'Refused']);
    expect(bed.orders().find(({ metadata }) => metadata.name === 'second')?.status?.message).toContain('ann rejected the act before');
  });

  test('no one decides: the time does', async () => {
    await using bed = await Bed.start();
    playWorkers(bed, asking(bed, [act('a')], 30));
    await bed.create(newTask('one'));
    const task = await finish(bed);
    expect(task.status?.approvals).toMatchObject([{ action: act('a'), decision: 'Rejected' }]);
    expect(task.status?.approvals?.[0]?.orderRef).toBeUndefined();
    expect(reported(task, 'Succeeded')).toBe('False/ApprovalRejected');
    expect(task.status?.clock?.pausedSeconds).toBeGreaterThanOrEqual(29);
  });

  test('a decision holds for the worker that takes the task over, and a pause and a cancellation work while it waits', async () => {
    await using bed = await Bed.start();
    playWorkers(bed, asking(bed, [act('a'), act('b')], 900));
    await bed.create(newTask('one'));
    await bed.until('it waits', waits(bed));
    await bed.order(orderTo('first', 'Approve', act('a')));
    await bed.until('the next one waits', () => bed.task('one').status?.run?.pendingApproval?.action === act('b'));
    await bed.addWorker('w-2');
    bed.beating.delete('w-1');
    await bed.until('another worker waits', () => bed.task('one').status?.assignment?.worker === 'w-2' && waits(bed)());
    expect(bed.task('one').status).toMatchObject({
      run: { epoch: 2, pendingApproval: { action: act('b') } },
      approvals: [{ action: act('a') }],
    });
    await bed.patch('one', { suspend: true });
    await bed.until('it is suspended', () => reported(bed.task('one'), 'Suspended') === 'True/Quiescing');
    expect(condition(bed.task('one'), 'AwaitingApproval')).toBeUndefined();
    await bed.patch('one', { suspend: false });
    await bed.until('it waits again', waits(bed));
    await bed.patch('one', { cancel: 'Rollback' });
    expect((await finish(bed)).status?.phase).toBe('Cancelled');
  });
});
