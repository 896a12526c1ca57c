import { describe, expect, it } from 'vitest';
import { ApiError, KubeError, silentLog, type ResourceClient } from '@agentfleet/kube';
import { settle, VirtualClock } from '@agentfleet/kube/testing';
import type { AgentTask, Run } from '@agentfleet/protocol/api';
import { classify, Reporter, runFilter } from './reporter.ts';
import { baseOf, noUsage, usedSoFar, withinAssignment, withWallSeconds } from './shape.ts';

interface Write {
  readonly run: Run;
  readonly version: string | undefined;
  readonly at: number;
  settle(error?: Error): void;
}

function bench() {
  const clock = new VirtualClock();
  const writes: Write[] = [];
  const state = { auto: true, notMine: 0, uid: 'u' };
  const client = {
    applyStatus: (body: object): Promise<AgentTask> =>
      new Promise((resolve, reject) => {
        const { status, metadata } = body as { status: { run: Run }; metadata: { resourceVersion?: string } };
        const end = (error?: Error): void => (error === undefined ? resolve({ metadata: { uid: state.uid } } as AgentTask) : reject(error));
        writes.push({ run: status.run, version: metadata.resourceVersion, at: clock.monotonic(), settle: end });
        if (state.auto) end();
      }),
    find: () => Promise.resolve({ metadata: { uid: state.uid, resourceVersion: '7' } }),
  } as unknown as Pick<ResourceClient<AgentTask>, 'applyStatus' | 'find'>;
  const stop = new AbortController();
  const reporter = new Reporter({
    client,
    task: { name: 'fix', namespace: 'team', uid: 'u' },
    base: { attempt: 2, epoch: 5 },
    filter: runFilter(),
    clock,
    random: () => 0,
    log: silentLog,
    onNotMine: () => (state.notMine += 1),
  });
  return { clock, writes, state, reporter, stop, running: reporter.follow(stop.signal) };
}

const progress = (done: number) => ({ progress: { done, total: 9 } });
const error = (code: number, message: string): ApiError => new ApiError(code, { message }, 'PATCH');

describe('the reporter', () => {
  it('writes urgent changes at once, others 3 s after the last write, and nothing when nothing changed', async () => {
    const { clock, writes, reporter } = bench();
    reporter.report(progress(1));
    await clock.advance(0);
    reporter.report(progress(2));
    reporter.report(progress(3));
    await clock.advance(2900);
    expect(writes.map(({ run }) => run.progress?.done)).toEqual([1]);
    await clock.advance(200);
    expect(writes.map(({ run, at }) => [run.progress?.done, at])).toEqual([
      [1, 0],
      [3, 3000],
    ]);
    reporter.report(progress(4), { urgent: true });
    await clock.advance(0);
    expect(writes.at(-1)?.run).toEqual({ attempt: 2, epoch: 5, ...progress(4) });
    reporter.report(progress(4), { urgent: true });
    await clock.advance(60_000);
    expect(writes).toHaveLength(3);
    expect(writes.every(({ version }) => version === undefined)).toBe(true);
  });

  it('writes less often the longer an attempt runs: every 3 s in the first minute, every 15 s after five', async () => {
    const { clock, writes, reporter } = bench();
    for (let second = 0; second < 420; second += 1) {
      reporter.report(progress(second));
      await clock.advance(1000);
    }
    const between = (from: number, to: number): number => writes.filter(({ at }) => at >= from * 1000 && at < to * 1000).length;
    expect([between(0, 60), between(180, 240), between(330, 420)]).toEqual([20, 6, 6]);
  });

  it('never has two writes under way, and the newest state wins', async () => {
    const { clock, writes, state, reporter } = bench();
    state.auto = false;
    reporter.report(progress(1), { urgent: true });
    await settle();
    reporter.report(progress(2), { urgent: true });
    reporter.report(progress(3), { urgent: true });
    await clock.advance(1000);
    expect(writes).toHaveLength(1);
    writes[0]?.settle(error(409, 'the object has been modified'));
    await clock.advance(1000);
    expect(writes[1]?.run.progress?.done).toBe(3);
    writes[1]?.settle();
    expect(await reporter.flush(new AbortController().signal)).toBe(true);
    expect(writes).toHaveLength(2);
  });

  it('flush waits for the write in progress, and ends with the reporter', async () => {
    const { clock, writes, state, reporter, stop, running } = bench();
    state.auto = false;
    reporter.report(progress(1));
    await clock.advance(0);
    let flushed: boolean | undefined;
    const flushing = reporter.flush(new AbortController().signal).then((written) => (flushed = written));
    await settle();
    expect(flushed).toBeUndefined();
    stop.abort();
    await flushing;
    expect(flushed).toBe(false);
    writes[0]?.settle(new KubeError('AF_STOPPED', { what: 'stopped', where: 'here', cure: 'none' }));
    await running;
    reporter.report(progress(2), { urgent: true });
    await clock.advance(60_000);
    expect(writes).toHaveLength(1);
  });

  it('stops, once, when the task belongs to another worker', async () => {
    const { clock, writes, state, reporter, running } = bench();
    state.auto = false;
    reporter.report(progress(1), { urgent: true });
    await settle();
    writes[0]?.settle(error(403, "ValidatingAdmissionPolicy 'agenttask-worker-fence.agentfleet.dev' denied request"));
    await running;
    reporter.report(progress(2), { urgent: true });
    await clock.advance(60_000);
    expect([writes.length, state.notMine]).toEqual([1, 1]);
  });
});

describe('a task that was created again under its name', () => {
  it('does not get an outcome, which is written on condition of the version that was read with the uid', async () => {
    const { clock, writes, state, reporter } = bench();
    reporter.report({ outcome: { result: 'Succeeded', reason: 'ChecksHold' } }, { urgent: true });
    await clock.advance(0);
    expect(writes[0]?.version).toBe('7');
    state.uid = 'v';
    reporter.report(progress(1), { urgent: true });
    await clock.advance(0);
    expect([writes.length, state.notMine]).toEqual([1, 1]);
  });

  it('ends the work as soon as an answer shows it', async () => {
    const { clock, state, reporter, running } = bench();
    state.uid = 'v';
    reporter.report(progress(1), { urgent: true });
    await clock.advance(0);
    await running;
    expect(state.notMine).toBe(1);
  });
});

describe('a refused write', () => {
  it.for([
    ['the task is gone', error(404, 'not found'), 'NotMine'],
    ['the fence', error(422, "ValidatingAdmissionPolicy 'agenttask-worker-fence.agentfleet.dev' denied request"), 'NotMine'],
    ['a missing right', error(403, 'agenttasks/status is forbidden'), 'Retry'],
    ['a conflict', error(409, 'the object has been modified'), 'Retry'],
    ['a wrong body', error(422, 'status.run.patch: Too long'), 'Invalid'],
    ['an object at the limit of the storage', error(500, 'etcdserver: request is too large'), 'Invalid'],
    ['a body that is too long', error(413, ''), 'Invalid'],
    ['an overloaded server', error(503, ''), 'Retry'],
    ['a stale lease', new KubeError('AF_FENCED', { what: 'a', where: 'b', cure: 'c' }), 'Retry'],
  ] as const)('%s', ([, thrown, refusal]) => {
    expect(classify(thrown)).toBe(refusal);
  });
});

it('of an object that has room for little more, what the operator acts on is reported without the rest', async () => {
  const { clock, writes, state, reporter } = bench();
  state.auto = false;
  const pendingApproval = { action: `sha256:${'ab'.repeat(32)}`, summary: 'push', expires: '2030-01-01T00:00:00Z' } as const;
  reporter.report({ ...progress(1), pendingApproval, messagesTaken: ['m-1'] }, { urgent: true });
  await settle();
  writes[0]?.settle(error(500, 'etcdserver: request is too large'));
  await clock.advance(1000);
  expect(writes[1]?.run).toEqual({ attempt: 2, epoch: 5, pendingApproval, messagesTaken: ['m-1'] });
  writes[1]?.settle();
  const outcome = { result: 'Failed', class: 'Stuck', reason: 'NothingLeft' } as const;
  reporter.report({ outcome, pendingApproval: undefined }, { urgent: true });
  await clock.advance(0);
  expect(writes[2]?.run).toEqual({ attempt: 2, epoch: 5, messagesTaken: ['m-1'], outcome });
});

describe('values carried over', () => {
  const task = (status: object): AgentTask => ({ metadata: { name: 'a' }, status }) as unknown as AgentTask;
  const used = { ...noUsage, toolCalls: 4, wallSeconds: 9 };
  const run = {
    attempt: 2,
    epoch: 4,
    usage: used,
    snapshots: { initial: 's0000' },
    outcome: { result: 'Failed', reason: 'Lost' },
  };

  it('usage of earlier attempts, and of this one when another worker had it', () => {
    const assignment = { attempt: 2, epoch: 5 };
    const totals = { usage: { ...noUsage, toolCalls: 1 } };
    expect(usedSoFar(task({ assignment, run, totals }))).toEqual({ earlier: totals.usage, before: used });
    expect(usedSoFar(task({ assignment: { attempt: 3, epoch: 5 }, run }))).toEqual({ earlier: noUsage, before: noUsage });
  });

  it('the report of the same attempt; its outcome only under the same epoch', () => {
    expect(baseOf(task({ run }), 2, 5)).toEqual({ attempt: 2, epoch: 5, usage: used, snapshots: run.snapshots });
    expect(baseOf(task({ run }), 2, 4)).toEqual(run);
    expect(baseOf(task({ run }), 3, 5)).toEqual({ attempt: 3, epoch: 5 });
    // Copies are counted over all attempts.
    const shadow = { rollout: 'bbbbbbbbbb-1', asked: 3 };
    expect(baseOf(task({ run: { ...run, shadow } }), 3, 5)).toEqual({ attempt: 3, epoch: 5, shadow });
    // One log has all attempts.
    expect(baseOf(task({ run: { ...run, auditRoot: 'ab' } }), 3, 5)).toEqual({ attempt: 3, epoch: 5, auditRoot: 'ab' });
  });

  it('no more budget than was set aside of the caps of its pool', () => {
    const bounds = (own: object, aside?: object): unknown => {
      const of = task({ assignment: { attempt: 2, epoch: 5, ...(aside === undefined ? {} : { budget: aside }) } });
      return withinAssignment({ ...of, spec: { ...of.spec, budget: own } }).spec.budget;
    };
    expect(bounds({ tokens: 7, cost: '1' })).toEqual({ tokens: 7, cost: '1' });
    expect(bounds({ tokens: 7, toolCalls: 3 }, { tokens: 5, cost: '0.5' })).toEqual({ tokens: 5, cost: '0.5', toolCalls: 3 });
    expect(bounds({ tokens: 4, cost: '0.25' }, { tokens: 5, cost: '0.5' })).toEqual({ tokens: 4, cost: '0.25' });
    expect(bounds({ cost: '10.5' }, { cost: '9.75' })).toEqual({ cost: '9.75' });
  });

  it('counts the seconds when the engine does not', () => {
    expect(withWallSeconds(noUsage, used, 1500).wallSeconds).toBe(11);
    expect(withWallSeconds({ ...noUsage, wallSeconds: 3 }, used, 1500).wallSeconds).toBe(3);
  });
});
