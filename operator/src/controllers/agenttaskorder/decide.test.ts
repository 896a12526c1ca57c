import type { AgentTask, AgentTaskOrder, ExpertPool } from '@agentfleet/protocol/api';
import { describe, expect, test } from 'vitest';
import { decideOrder } from './decide.ts';
import { decideRolloutOrder } from './controller.ts';

const now = Date.UTC(2030, 0, 1);
const at = (seconds: number): string => new Date(now + seconds * 1000).toISOString().replace('.000', '');
const digest = `sha256:${'ab'.repeat(32)}`;

const order = (spec: object, status?: AgentTaskOrder['status'], created = at(-60)): AgentTaskOrder => ({
  apiVersion: 'agentfleet.dev/v1alpha1',
  kind: 'AgentTaskOrder',
  metadata: { name: 'halt', namespace: 'team', generation: 1, creationTimestamp: created },
  spec: { taskRef: { name: 'one' }, type: 'Cancel', requester: 'ann', ...spec },
  ...(status === undefined ? {} : { status }),
});
const task = (status: AgentTask['status'], created = at(-100)): AgentTask =>
  ({
    apiVersion: 'agentfleet.dev/v1alpha1',
    kind: 'AgentTask',
    metadata: { name: 'one', uid: 'u-1', creationTimestamp: created },
    spec: {},
    status,
  }) as unknown as AgentTask;

const running = task({ finished: 'false' });
const asking = task({
  finished: 'false',
  run: { attempt: 1, epoch: 1, pendingApproval: { action: digest, summary: 'push', expires: at(60) } },
});
const decided = (change: object = {}): AgentTask =>
  task({
    finished: 'false',
    approvals: [{ action: digest, decision: 'Approved', requester: 'ann', orderRef: { name: 'halt' }, at: at(-30), ...change }],
  });
const cancelled = task({ finished: 'true', phase: 'Cancelled' });
const cancelledAt = (seconds: number): AgentTask =>
  task({
    finished: 'true',
    phase: 'Cancelled',
    conditions: [{ type: 'Finished', status: 'True', reason: 'Cancelled', message: '', lastTransitionTime: at(seconds) }],
  });

describe('an order', () => {
  test.each([
    ['to cancel what runs is accepted', order({}), running, 'Accepted', /snapshot 0/],
    ['to cancel what has ended is refused', order({}), cancelled, 'Refused', /ended already \(Cancelled\)/],
    ['that stood when the task was cancelled is done, although nobody accepted it', order({}), cancelledAt(-59), 'Done', /is cancelled/],
    [
      "that stood when the task was cancelled is done also by an operator's clock that is behind",
      order({}),
      cancelledAt(-64),
      'Done',
      /is cancelled/,
    ],
    ['to cancel that came after another had done it is refused', order({}), cancelledAt(-66), 'Refused', /ended already/],
    ['that was accepted is done with its task', order({}, { state: 'Accepted' }), cancelled, 'Done', /is cancelled/],
    [
      'is done also when the task ended by itself',
      order({}, { state: 'Accepted' }),
      task({ finished: 'true', phase: 'Succeeded' }),
      'Done',
      /by itself before \(Succeeded\)/,
    ],
    ['for a task that does not exist is refused', order({}), undefined, 'Refused', /there is no AgentTask one/],
    ['is not for a later task of the same name', order({}), task({ finished: 'false' }, at(-10)), 'Refused', /older than this order/],
    ['to approve the act that waits is accepted', order({ type: 'Approve', action: digest }), asking, 'Accepted', /goes to the worker/],
    ['to approve when nothing waits is refused', order({ type: 'Approve', action: digest }), running, 'Refused', /nothing waits/],
    [
      'to reject another act than the one that waits is refused',
      order({ type: 'Reject', action: `sha256:${'cd'.repeat(32)}` }),
      asking,
      'Refused',
      /the act that waits is sha256:abab/,
    ],
    ['that decided is done', order({ type: 'Approve', action: digest }, { state: 'Accepted' }), decided(), 'Done', /is approved/],
    [
      "that decided is done also by an operator's clock that is behind",
      order({ type: 'Approve', action: digest }, { state: 'Accepted' }),
      decided({ at: at(-64) }),
      'Done',
      /is approved/,
    ],
    [
      'that is younger than the decision did not decide',
      order({ type: 'Approve', action: digest }, { state: 'Accepted' }),
      decided({ at: at(-66) }),
      'Refused',
      /a decision stands/,
    ],
    [
      'that decided is done also when we refused it because we did not see the act',
      order({ type: 'Approve', action: digest }, { state: 'Refused', message: 'no act waits' }),
      decided(),
      'Done',
      /is approved/,
    ],
    [
      'of the same name as the one that decided is another one',
      order({ type: 'Approve', action: digest, requester: 'bob' }, { state: 'Accepted' }),
      decided(),
      'Refused',
      /ann approved the act before, by AgentTaskOrder halt at/,
    ],
    [
      'is refused when somebody else decided',
      order({ type: 'Reject', action: digest }),
      decided({ requester: 'bob', orderRef: { name: 'other' } }),
      'Refused',
      /bob approved the act before, by AgentTaskOrder other/,
    ],
    [
      'is refused when the time decided',
      order({ type: 'Approve', action: digest }, { state: 'Accepted' }),
      decided({ decision: 'Rejected', requester: undefined, orderRef: undefined }),
      'Refused',
      /the time to decide was over/,
    ],
    [
      'about an act that stopped waiting undecided is refused',
      order({ type: 'Approve', action: digest }, { state: 'Accepted' }),
      running,
      'Refused',
      /stopped waiting before anything was decided/,
    ],
    ['that was refused stays so', order({}, { state: 'Refused', message: 'once' }), running, 'Refused', /^once$/],
  ] as const)('%s', (_, given, about, state, message) => {
    const { status, owner } = decideOrder(given, about, now);
    expect(status).toMatchObject({ state, message: expect.stringMatching(message) as string });
    expect(owner?.uid).toBe(message.source.includes('there is no') || message.source.includes('older') ? undefined : 'u-1');
    // Comes to rest.
    expect(decideOrder({ ...given, status: status! }, about, now + 5000).status).toEqual(status);
  });

  test('that came before its task in our caches waits for it', () => {
    const young = order({}, undefined, at(-4));
    expect(decideOrder(young, undefined, now)).toEqual({ status: undefined, owner: undefined, requeueAfterMs: 6000 });
    expect(decideOrder(young, undefined, now + 6000).status?.state).toBe('Refused');
  });

  test('that belongs to no task goes after a day, and one that has a task stays as long as that', () => {
    const refused = decideOrder(order({}), undefined, now);
    expect([refused.status?.state, refused.requeueAfterMs, refused.remove]).toEqual(['Refused', 86_400_000, undefined]);
    const later = { ...order({}), status: refused.status! };
    expect(decideOrder(later, undefined, now + 86_399_000)).toMatchObject({ requeueAfterMs: 1000 });
    expect(decideOrder(later, undefined, now + 86_400_000).remove).toBe(true);
    expect(decideOrder(later, task({ finished: 'false' }, at(-10)), now + 86_400_000).remove).toBe(true);
    expect(decideOrder(later, running, now + 86_400_000)).toMatchObject({ status: { state: 'Refused' }, requeueAfterMs: undefined });
    expect(decideOrder(later, running, now + 86_400_000).remove).toBeUndefined();
  });

  test('about an act that our cache may not show yet waits for it', () => {
    const young = order({ type: 'Approve', action: digest }, undefined, at(-1));
    const early = decideOrder(young, running, now);
    expect([early.status, early.owner?.uid, early.requeueAfterMs]).toEqual([undefined, 'u-1', 2000]);
    expect(decideOrder(young, asking, now).status?.state).toBe('Accepted');
    expect(decideOrder(young, running, now + 2000).status?.state).toBe('Refused');
    expect(decideOrder(young, cancelled, now).status?.state).toBe('Refused');
  });
});

describe('an order about a rollout', () => {
  const [a, b] = ['aaaaaaaaaa', 'bbbbbbbbbb'];
  const about = (type: string, status?: AgentTaskOrder['status'], created = at(-60)): AgentTaskOrder =>
    order({ taskRef: undefined, rolloutRef: { kind: 'ExpertPool', name: 'coding' }, revision: b, type }, status, created);
  const pool = (rollout: object): ExpertPool =>
    ({ apiVersion: 'v1', kind: 'ExpertPool', metadata: { name: 'coding', uid: 'u-2' }, status: { rollout } }) as unknown as ExpertPool;
  const tried = pool({ phase: 'Canary', stable: a, canary: b });
  const went = { phase: 'Idle', stable: a, failures: { [b]: 1 } };
  const lost = pool({ phase: 'Frozen', stable: a, canary: b, failures: { [b]: 2 } });

  test.each([
    ['that approves what is tried is accepted', about('Approve'), tried, 'Accepted', /every gate passes/],
    ['that rejects what is tried is accepted', about('Reject'), tried, 'Accepted', /goes back/],
    ['that approved is done when it serves', about('Approve', { state: 'Accepted' }), pool({ phase: 'Idle', stable: b }), 'Done', /serves/],
    ['that rejected is done when it went back', about('Reject', { state: 'Accepted' }), lost, 'Done', /went back/],
    ['that rejects what is not tried again is done', about('Reject'), lost, 'Done', /went back/],
    [
      'that rejected is done when a person had it go back',
      about('Reject'),
      pool({ ...went, failures: { [b]: 1000 } }),
      'Done',
      /went back/,
    ],
    ['that rejects what is tried again later is refused', about('Reject'), pool(went), 'Refused', /not being tried; no rollout is open/],
    ['that rejected is done when a gate was first', about('Reject', { state: 'Accepted' }), pool(went), 'Done', /went back/],
    ['that approved what a gate failed is refused', about('Approve', { state: 'Accepted' }), lost, 'Refused', /not being tried/],
    ['about another revision is refused', about('Approve'), pool({ phase: 'Canary', stable: a, canary: a }), 'Refused', /canary is a{10}/],
    ['that rejects what serves is refused', about('Reject'), pool({ phase: 'Idle', stable: b }), 'Refused', /serves already/],
    ['about a pool that does not exist is refused', about('Approve'), undefined, 'Refused', /no ExpertPool coding/],
    ['that was done stays so', about('Approve', { state: 'Done', message: 'once' }), lost, 'Done', /^once$/],
  ] as const)('%s', (_, given, target, state, message) => {
    const { status, owner } = decideRolloutOrder(given, target, now);
    expect(status).toMatchObject({ state, message: expect.stringMatching(message) as string });
    expect(owner?.uid).toBe(target === undefined ? undefined : 'u-2');
  });

  test('about a pool that does not exist goes after a day', () => {
    const { status, requeueAfterMs, remove } = decideRolloutOrder(about('Approve'), undefined, now);
    expect([requeueAfterMs, remove]).toEqual([86_400_000, undefined]);
    expect(decideRolloutOrder(about('Approve', status), undefined, now + 86_400_000).remove).toBe(true);
    expect(decideRolloutOrder(about('Approve', status), tried, now + 86_400_000).remove).toBeUndefined();
  });

  test('waits for a status that the cache may not show yet', () => {
    expect(decideRolloutOrder(about('Approve', undefined, at(-4)), undefined, now)).toMatchObject({
      status: undefined,
      requeueAfterMs: 6000,
    });
  });

  test.each([
    ['went back', pool(went)],
    ['was frozen', lost],
  ])('that rejects a second try is not answered by the end of the first one, which %s', (_, before) => {
    const young = about('Reject', undefined, at(-4));
    expect(decideRolloutOrder(young, before, now)).toMatchObject({ status: undefined, requeueAfterMs: 6000 });
    const again = pool({ phase: 'Canary', stable: a, canary: b, failures: { [b]: 1 } });
    expect(decideRolloutOrder(young, again, now).status?.state).toBe('Accepted');
  });
});
