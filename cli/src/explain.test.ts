import { afterEach, beforeEach, describe, expect, test } from 'vitest';
import { ApiServer } from './testing/apiServer.ts';
import { fleet } from './testing/fleet.ts';

let api: ApiServer;
beforeEach(async () => {
  api = await ApiServer.start();
});
afterEach(() => api[Symbol.asyncDispose]());

describe('fleet explain', () => {
  const condition = (type: string, status: string, reason: string, message = '') => ({ type, status, reason, message });
  test.each([
    ['nobody looked at it', undefined, {}, [/has not looked at it/, /cure: see whether it runs with "fleet doctor"/]],
    [
      'it waits in the queue',
      { phase: 'Queued', finished: 'false', queue: { position: 3 }, conditions: [condition('Scheduled', 'False', 'QueueFull')] },
      {
        running: 4,
        queued: 4,
        conditions: [condition('Ready', 'False', 'ClaimPending'), condition('StorageReady', 'False', 'ClaimPending', 'no class')],
      },
      [
        /3 tasks are before it/,
        /pool coding: not ready, 4 run, 4 wait/,
        /pool coding StorageReady: ClaimPending, no class\n {2}means: .*\n {2}cure: offer a default/,
      ],
    ],
    [
      'it failed',
      {
        phase: 'Failed',
        finished: 'true',
        run: { outcome: { result: 'Failed', reason: 'ChecksFailed', message: 'one failed' } },
        attempts: [{ number: 1, class: 'BudgetExceeded', reason: 'BudgetExceeded' }],
      },
      {},
      [
        /has ended: Failed/,
        /attempt 1, BudgetExceeded: BudgetExceeded\n {2}means: .*\n {2}cure: raise spec\.budget/,
        /outcome: ChecksFailed, one failed/,
      ],
    ],
    [
      'it failed, in several lines',
      {
        phase: 'Failed',
        finished: 'true',
        run: { outcome: { result: 'Failed', reason: 'StillFails', message: 'unit: does not hold\n\n  cure: \u001b[2Kfaked\nFAILED' } },
      },
      {},
      [/outcome: StillFails, unit: does not hold\n {2}\| {3}cure: \\u\{1b\}\[2Kfaked\n {2}\| FAILED\n {2}means: /],
    ],
    [
      'it is refused, and all else only follows from it',
      {
        phase: 'Pending',
        finished: 'false',
        conditions: [
          condition('Ready', 'Unknown', 'PoolNotFound', 'no x'),
          condition('Accepted', 'False', 'PoolNotFound', 'no x'),
          condition('Scheduled', 'False', 'NotAccepted', 'see Accepted'),
          condition('SandboxReady', 'False', 'NoSandbox', 'there is no sandbox'),
          condition('Succeeded', 'Unknown', 'PoolNotFound', 'the task has not been judged'),
        ],
      },
      {},
      [/^.* is Pending, .*\nAccepted: PoolNotFound, no x\n {2}means: .*\n {2}cure: create it.*\npool coding: /],
    ],
    [
      'it waits for a person, whose next step comes first',
      {
        phase: 'AwaitingApproval',
        finished: 'false',
        conditions: [
          condition('Ready', 'Unknown', 'AwaitingApproval', 'git push'),
          condition('Succeeded', 'Unknown', 'AwaitingApproval', 'the task has not been judged'),
          condition('AwaitingApproval', 'True', 'AwaitingApproval', 'git push'),
        ],
        run: {
          pendingApproval: { action: `sha256:${'a'.repeat(64)}`, summary: 'git push', expires: '2030-01-01T02:10:00Z' },
          artifacts: [{ name: 'act-aaaaaaaaaaaaaaaa.json', uri: 'pvc://x/act.json', sha256: 'a'.repeat(64), bytes: 9 }],
        },
      },
      {},
      [
        /^.*\nit waits for you:\n {2}Act: +git push\n {2}Whole: +fleet artifacts one act-a{16}\.json -n team\n.*\n {2}Answer within 10m: fleet approve one -n team --action a{16}, or .*\npool coding: /,
      ],
    ],
    [
      'its key is refused',
      {
        phase: 'Running',
        finished: 'false',
        conditions: [],
        run: { progress: { done: 0, total: 4, message: 'the provider refuses the credential' } },
      },
      {},
      [/^.* is Running, .*\nprogress: the provider refuses the credential\n/],
    ],
    [
      'its result is not where it was to go',
      { phase: 'Succeeded', finished: 'true', conditions: [condition('Delivered', 'False', 'AccessDenied', 'the token may not push')] },
      {},
      [/has ended: Succeeded\nDelivered: AccessDenied, the token may not push\n {2}means: /],
    ],
  ])('reports why: %s', async (_, status, pool, wanted) => {
    api.addTask('one', status === undefined ? {} : { status });
    api.pools.set('team/coding', { metadata: { name: 'coding', namespace: 'team' }, status: pool });
    const { code, out } = await fleet(api, ['explain', 'one']);
    expect(code).toBe(0);
    for (const line of wanted) expect(out).toMatch(line);
  });
});

describe('where no operator runs', () => {
  const path = '/apis/coordination.k8s.io/v1/leases';
  const lease = (namespace: string, renewTime: string, holderIdentity = 'operator-0') => ({
    metadata: { name: 'agentfleet-operator', namespace },
    spec: { holderIdentity, renewTime, leaseDurationSeconds: 15 },
  });
  const held = (...items: readonly object[]): void => void api.others.set(path, { kind: 'LeaseList', metadata: {}, items });
  const idle = /no operator runs: the Lease agentfleet-operator of namespace fleet was renewed 60m ago.*; cure: kubectl -n fleet get pods/;
  const [old, fresh, released] = [
    lease('fleet', '2030-01-01T01:00:00Z'),
    lease('team', '2030-01-01T01:59:40Z'),
    lease('a', '2030-01-01T01:59:40Z', ''),
  ];

  test.each([
    ['explain one', 'out'],
    ['show one', 'out'],
    ['tasks', 'err'],
    ['watch one --timeout 1', 'err'],
  ] as const)('fleet %s says so in one line with the cure', async (words, where) => {
    api.addTask('one', { status: { phase: 'Running', finished: 'false', conditions: [] } });
    held(old);
    expect((await fleet(api, words.split(' ')))[where]).toMatch(idle);
  });

  test.each([
    ['one of another namespace may be the right one', () => held(old, fresh)],
    ['one ends just now, and the next one begins', () => held(released)],
    ['there is no Lease, as without leader election', () => held()],
    [
      'the caller may not see Leases',
      () => (api.refuse = (seen) => (seen.path === path ? { code: 403, body: { kind: 'Status', code: 403, message: 'no' } } : undefined)),
    ],
    [
      'the API server does not answer about Leases',
      () => (api.refuse = (seen) => (seen.path === path ? { code: 400, body: { kind: 'Status', code: 400, message: 'no' } } : undefined)),
    ],
  ])('nothing is said where %s', async (_, given) => {
    api.addTask('one', { status: { phase: 'Running', finished: 'false', conditions: [] } });
    given();
    const { code, out } = await fleet(api, ['explain', 'one']);
    expect([code, out]).toEqual([0, expect.not.stringContaining('no operator runs')]);
  });

  test('nor about a task that has ended', async () => {
    api.addTask('one', { status: { phase: 'Succeeded', finished: 'true', conditions: [] } });
    held(old);
    expect((await fleet(api, ['explain', 'one'])).out).not.toMatch(idle);
  });
});

test('fleet explain says which right to the pool is missing, and who gives it', async () => {
  api.addTask('one', { status: { phase: 'Queued', finished: 'false', conditions: [] } });
  const message = 'expertpools.agentfleet.dev "coding" is forbidden';
  api.refuse = ({ path }) =>
    path.endsWith('/expertpools/coding') ? { code: 403, body: { kind: 'Status', status: 'Failure', code: 403, message } } : undefined;
  expect((await fleet(api, ['explain', 'one'])).out).toMatch(
    /pool coding: you may not get expertpools in namespace team, .*\n {2}cure: ask whoever administers namespace team for a RoleBinding to the ClusterRole agentfleet-viewer there\n/,
  );
});
