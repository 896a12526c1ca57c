// The controllers of tasks and orders on a real API server: its schemas, its apply, its garbage collector.
import { afterAll, beforeAll, describe, expect, it, vi } from 'vitest';
import { spendingName } from '../../operator/src/pools/names.ts';
import { bookOf, spendingKey, type SpendingBook } from '../../operator/src/pools/spending.ts';
import { resources } from '../../operator/src/runtime/resources.ts';
import { enabled, until, whoAmI } from './api/server.ts';
import { TaskBed } from './taskBed.ts';

const usage = { tokensIn: 0, tokensOut: 0, toolCalls: 3, cpuMillis: 40, wallSeconds: 5, candidates: 6, vetoes: 0, backtracks: 1 };
const snapshots = { initial: 's0001' };

describe.runIf(enabled)('controllers of tasks', () => {
  let bed: TaskBed;

  beforeAll(async () => {
    bed = await TaskBed.start();
  });
  afterAll(() => bed.close());

  it('a minimal task gets a ready sandbox in three writes, and succeeds', async () => {
    const before = bed.writes.length;
    await bed.create('minimal');
    await bed.startSandbox('minimal');
    // Pod, assignment, readiness; and the scheduler's condition where there is no node.
    const placeless = bed.reasons.filter((reason) => reason === 'Unschedulable').length;
    expect(bed.writes.slice(before)).toHaveLength(3 + Math.min(1, placeless));
    await bed.report('minimal', { usage, snapshots, outcome: { result: 'Succeeded', reason: 'ChecksPassed' } });
    await until('it has ended', async () => (await bed.task('minimal')).status?.finished === 'true');
    await until('its sandbox is gone', async () => (await bed.sandboxes('minimal')).length === 0);
    const { status } = await bed.task('minimal');
    expect(status).toMatchObject({ phase: 'Succeeded', totals: { usage }, attempts: [{ number: 1 }] });
    expect(await bed.reported('minimal', 'Ready')).toBe('True/Succeeded');
    expect(bed.events.map(({ reason }) => reason)).toEqual(['Succeeded']);
    expect(JSON.stringify(status).length).toBeLessThan(8192);
  });

  it('a failed attempt is followed by another one, and an order to cancel restores snapshot 0', async () => {
    await bed.create('two', { attempts: { backoff: { seconds: 0 } } });
    await bed.startSandbox('two');
    await bed.report('two', { usage, snapshots, outcome: { result: 'Failed', class: 'CheckFailed', reason: 'ChecksFailed' } });
    await until('the next attempt', async () => (await bed.task('two')).status?.assignment?.attempt === 2);
    expect((await bed.task('two')).status).toMatchObject({
      assignment: { epoch: 2, sandbox: 'two-1', directive: 'Run' },
      totals: { usage },
    });
    await bed.order('halt', { taskRef: { name: 'two' }, type: 'Cancel' });
    await until('the rollback', async () => (await bed.task('two')).status?.assignment?.directive === 'Rollback');
    await bed.report('two', { usage, snapshots, rollback: { snapshot: 's0001', verified: true } });
    await until('it has ended', async () => (await bed.task('two')).status?.finished === 'true');
    expect((await bed.task('two')).status).toMatchObject({ phase: 'Cancelled', run: { rollback: { verified: true } } });
    await until('the order is done', async () => (await bed.orderState('halt')) === 'Done');
  });

  it('a task that is paused and deleted at work leaves neither pod nor order', async () => {
    await bed.create('three');
    await bed.startSandbox('three');
    await bed.report('three', { usage, snapshots });
    await bed.client(resources.agentTasks).patch({ namespace: bed.namespace, name: 'three' }, { spec: { suspend: true } });
    await until('it is suspended', async () => (await bed.reported('three', 'Suspended')) === 'True/Quiescing');
    expect((await bed.task('three')).status?.clock?.pausedAt).toBeDefined();
    await bed.client(resources.agentTasks).patch({ namespace: bed.namespace, name: 'three' }, { spec: { suspend: false } });
    await until('it goes on', async () => (await bed.task('three')).status?.assignment?.epoch === 2);
    expect((await bed.task('three')).status?.clock?.pausedAt).toBeUndefined();
    await bed.client(resources.agentTasks).patch({ namespace: bed.namespace, name: 'three' }, { spec: { suspend: true } });
    await until('it is to rest', async () => (await bed.task('three')).status?.assignment?.directive === 'Quiesce');
    await bed.report('three', { usage, snapshots, quiescedAt: '2030-01-01T00:00:00Z' });
    await until('it holds no sandbox', async () => (await bed.reported('three', 'Suspended')) === 'True/Suspended');
    expect(await bed.sandboxes('three')).toEqual([]);
    await bed.client(resources.agentTasks).patch({ namespace: bed.namespace, name: 'three' }, { spec: { suspend: false } });
    await until('it goes on', async () => (await bed.task('three')).status?.assignment?.epoch === 3);
    expect((await bed.task('three')).status?.assignment).toMatchObject({ attempt: 1, sandbox: 'three-3', directive: 'Run' });
    expect((await bed.sandboxes('three')).map(({ metadata }) => metadata.name)).toEqual(['three-3']);
    await bed.client(resources.agentTasks).delete({ namespace: bed.namespace, name: 'three' });
    await until('its sandbox is gone', async () => (await bed.sandboxes('three')).length === 0);
    await bed.client(resources.agentTasks).delete({ namespace: bed.namespace, name: 'two' });
    // The garbage collector learns of new kinds every half minute.
    await vi.waitFor(
      async () => expect(await bed.client(resources.agentTaskOrders).find({ namespace: bed.namespace, name: 'halt' })).toBeUndefined(),
      {
        timeout: 50_000,
        interval: 200,
      },
    );
  });

  const act = (digit: string): string => `sha256:${digit.repeat(64)}`;
  const soon = (seconds: number): string => `${new Date(Date.now() + seconds * 1000).toISOString().slice(0, 19)}Z`;
  const asks = (name: string, action: string, seconds: number): Promise<void> =>
    bed.report(name, { usage, snapshots, pendingApproval: { action, summary: 'git push to main', expires: soon(seconds) } });
  const decided = async (name: string): Promise<string[]> =>
    ((await bed.task(name)).status?.approvals ?? []).map(({ decision, orderRef }) => `${decision} ${orderRef?.name ?? '-'}`);

  it('acts wait for orders while no clock runs: one is approved, one rejected, one forgotten', async () => {
    await bed.create('asks', { deadlineSeconds: 3600, attempts: { max: 1 } });
    await bed.startSandbox('asks');
    await asks('asks', act('a'), 600);
    await until('it waits', async () => (await bed.reported('asks', 'AwaitingApproval')) === 'True/AwaitingApproval');
    expect((await bed.task('asks')).status).toMatchObject({
      phase: 'AwaitingApproval',
      clock: { pausedAt: expect.any(String) as string },
      assignment: { directive: 'Run', epoch: 1 },
    });
    await bed.order('other', { taskRef: { name: 'asks' }, type: 'Approve', action: act('b') });
    await bed.order('yes', { taskRef: { name: 'asks' }, type: 'Approve', action: act('a') });
    await until('it is approved', async () => (await decided('asks')).join() === 'Approved yes');
    await until('the order is done', async () => (await bed.orderState('yes')) === 'Done');
    expect((await bed.task('asks')).status?.clock?.pausedAt).toBeUndefined();
    expect(await bed.reported('asks', 'AwaitingApproval')).toBe('-/-');
    await until('the other order is refused', async () => (await bed.orderState('other')) === 'Refused');

    await asks('asks', act('c'), 600);
    await until('it waits again', async () => (await bed.reported('asks', 'AwaitingApproval')) === 'True/AwaitingApproval');
    await bed.order('no', { taskRef: { name: 'asks' }, type: 'Reject', action: act('c') });
    await until('it is rejected', async () => (await decided('asks')).join() === 'Approved yes,Rejected no');

    await asks('asks', act('d'), 2);
    await until('the time is over', async () => (await decided('asks')).join() === 'Approved yes,Rejected no,Rejected -');
    const requesters = (await bed.task('asks')).status?.approvals?.map(({ requester }) => requester);
    expect(requesters).toEqual([await whoAmI(bed.server), await whoAmI(bed.server), undefined]);
    await bed.report('asks', { usage, snapshots, outcome: { result: 'Failed', class: 'ApprovalRejected', reason: 'ApprovalRejected' } });
    await until('it is rolled back', async () => (await bed.task('asks')).status?.assignment?.directive === 'Rollback');
    await bed.report('asks', { usage, snapshots, rollback: { snapshot: 's0001', verified: true } });
    await until('it has ended', async () => (await bed.reported('asks', 'Succeeded')) === 'False/ApprovalRejected');
    expect(await decided('asks')).toHaveLength(3);
  });

  it('a task is removed when its time after the end is over', async () => {
    await bed.create('expires', { suspend: true, ttlSecondsAfterFinished: 1 });
    await until('it is suspended', async () => (await bed.reported('expires', 'Suspended')).startsWith('True/'));
    const name = { namespace: bed.namespace, name: 'expires' };
    await bed.client(resources.agentTasks).patch(name, { spec: { cancel: 'Stop', suspend: false } });
    await until('it is gone', async () => (await bed.client(resources.agentTasks).find(name)) === undefined);
  });

  it('a pool that caps spending charges each attempt once, and a task waits for budget that another one releases', async () => {
    const { namespace } = bed;
    const spec = { policy: { maxBudget: { tokens: 60 } }, limits: { spending: { windowSeconds: 2_678_400, tokens: 100 } } };
    await bed.client(resources.expertPools).patch({ namespace, name: 'coding' }, { spec });
    const book = async (): Promise<SpendingBook | null> =>
      bookOf((await bed.client(resources.configMaps).get({ namespace, name: spendingName('coding') })).data?.[spendingKey]);
    await bed.create('spender');
    await bed.startSandbox('spender');
    expect((await bed.task('spender')).status?.assignment?.budget).toEqual({ tokens: 60 });
    await bed.create('waiter');
    await until('it waits', async () => (await bed.reported('waiter', 'Scheduled')) === 'False/SpendingCapReached');
    await bed.report('spender', {
      usage: { ...usage, tokensIn: 30, tokensOut: 10 },
      snapshots,
      outcome: { result: 'Succeeded', reason: 'ChecksPassed' },
    });
    await until('the other one begins', async () => (await bed.reported('waiter', 'Scheduled')) === 'True/Assigned');
    expect(await book()).toMatchObject({ spent: { [namespace]: { tokens: 40, estimated: 0 } }, held: [{ name: 'waiter', tokens: 60 }] });
    await bed.client(resources.agentTasks).delete({ namespace, name: 'waiter' });
    await until('it is charged all', async () => (await book())?.held.length === 0);
    expect((await book())?.spent).toEqual({ [namespace]: { tokens: 100, micros: 0, estimated: 1 } });
  });
});
