import { writeFile } from 'node:fs/promises';
import { describe, expect, test } from 'vitest';
import { explain } from './base/explain.ts';
import { ApiServer } from './testing/apiServer.ts';
import { fleet } from './testing/fleet.ts';

const action = `sha256:${'a'.repeat(64)}`;
const pendingApproval = { action, summary: 'git push to main', evidence: 'the policy asks for it', expires: '2030-01-01T02:10:00Z' };
const waiting = { status: { phase: 'AwaitingApproval', finished: 'false', run: { attempt: 1, epoch: 1, pendingApproval } } };

async function bed(parts: Record<string, unknown> = waiting): Promise<ApiServer> {
  const api = await ApiServer.start();
  api.addTask('one', parts);
  return api;
}

describe('fleet approve and reject', () => {
  test('give an order in the own name for the act that waits, and print what was decided', async () => {
    await using api = await bed();
    api.operator = (_, looks) => (looks < 3 ? { state: 'Accepted', message: 'goes' } : { state: 'Done', message: 'the act is approved' });
    const { code, out, err } = await fleet(api, ['approve', 'one', '--reason', 'seen']);
    expect([code, err]).toEqual([0, '']);
    expect(out).toContain('approved for AgentTask one: git push to main');
    expect(out).toContain(`act ${action}`);
    expect(out).toContain('by ann, AgentTaskOrder one-approve-x0');
    expect(api.orders.get('team/one-approve-x0')).toMatchObject({
      metadata: { namespace: 'team' },
      spec: { taskRef: { name: 'one' }, type: 'Approve', action, reason: 'seen', requester: 'ann' },
    });
  });

  test('reject reports it to the operator', async () => {
    await using api = await bed();
    api.operator = () => ({ state: 'Done' });
    expect((await fleet(api, ['reject', 'one'])).out).toContain('rejected for AgentTask one');
    expect([...api.orders.values()]).toMatchObject([{ spec: { type: 'Reject', action } }]);
  });

  test('approve and reject decide about the revision that a pool tries, and about no other one', async () => {
    await using api = await bed();
    api.operator = () => ({ state: 'Accepted', message: 'it is promoted as soon as every gate passes' });
    const conditions = [{ type: 'RolloutHealthy', status: 'True', reason: 'Paused', message: 'waits' }];
    const rollout = (phase: string) => ({ status: { rollout: { phase, stable: 'aaaaaaaaaa', canary: 'bbbbbbbbbb' }, conditions } });
    api.pools.set('team/coding', { metadata: { name: 'coding', namespace: 'team' }, ...rollout('Canary') });
    expect((await fleet(api, ['approve', 'expertpool/coding'])).out).toContain(
      'approved for expertpool/coding, revision bbbbbbbbbb: it is',
    );
    expect([...api.orders.values()]).toMatchObject([
      { spec: { rolloutRef: { kind: 'ExpertPool', name: 'coding' }, revision: 'bbbbbbbbbb', type: 'Approve', requester: 'ann' } },
    ]);
    expect((await fleet(api, ['reject', 'expertpool/coding', '--revision', 'cccccccccc'])).err).toContain('tries is bbbbbbbbbb, not cc');
    api.pools.set('team/coding', { metadata: { name: 'coding', namespace: 'team' }, ...rollout('Idle') });
    expect((await fleet(api, ['reject', 'expertpool/coding'])).err).toContain('no revision of expertpool/coding is being tried: waits');
    expect((await fleet(api, ['reject', 'pool/coding'])).err).toContain('write expertpool/NAME or energymodel/NAME');
    expect(api.orders.size).toBe(1);
  });

  test('a refusal is printed and is a failure', async () => {
    await using api = await bed();
    api.operator = () => ({ state: 'Refused', message: 'bob approved the act before' });
    const { code, out, err } = await fleet(api, ['approve', 'one']);
    expect([code, out]).toEqual([1, '']);
    expect(err).toBe('fleet: AgentTaskOrder one-approve-x0 is refused: bob approved the act before\n');
  });

  test('an operator that does not answer is waited for so long only', async () => {
    await using api = await bed();
    const { code, err } = await fleet(api, ['approve', 'one', '--timeout', '2']);
    expect(code).toBe(1);
    expect(err).toMatch(/not answered after 2 s; it stands/);
  });

  test.each([
    ['no act waits', { status: { phase: 'Running', finished: 'false' } }, /no act of AgentTask one waits for a decision \(phase Running\)/],
    ['the task has ended', { status: { ...waiting.status, phase: 'Failed', finished: 'true' } }, /has ended \(Failed\)/],
    [
      'it is decided',
      { status: { ...waiting.status, approvals: [{ action, decision: 'Rejected', requester: 'bob', at: '2030-01-01T01:00:00Z' }] } },
      /was rejected already, by bob at 2030/,
    ],
  ])('nothing is ordered when %s', async (_, parts, message) => {
    await using api = await bed(parts);
    const { code, err } = await fleet(api, ['approve', 'one']);
    expect([code, api.orders.size]).toEqual([1, 0]);
    expect(err).toMatch(message);
  });

  test('nothing is ordered about another act than the one that is meant', async () => {
    await using api = await bed();
    for (const meant of [`sha256:${'b'.repeat(64)}`, `${'a'.repeat(16)}b`, 'a'.repeat(15)]) {
      const { code, err } = await fleet(api, ['approve', 'one', '--action', meant]);
      expect([code, api.orders.size]).toEqual([1, 0]);
      expect(err).toContain(`the act that waits is ${action}`);
    }
  });

  test('the beginning of the digest names the act, as the hint has it', async () => {
    await using api = await bed();
    api.operator = () => ({ state: 'Done' });
    const [, hint = ''] = /fleet approve one -n team (--action \S+), or/.exec((await fleet(api, ['explain', 'one'])).out) ?? [];
    expect((await fleet(api, ['approve', 'one', ...hint.split(' ')])).code).toBe(0);
    expect([...api.orders.values()]).toMatchObject([{ spec: { type: 'Approve', action } }]);
  });

  test('what an agent wrote cannot change what is on the screen', async () => {
    const summary = 'rm -rf /\u001b[2K\rls\u202e\u200b';
    await using api = await bed({
      status: { ...waiting.status, run: { ...waiting.status.run, pendingApproval: { ...pendingApproval, summary } } },
    });
    api.operator = () => ({ state: 'Done' });
    expect((await fleet(api, ['approve', 'one'])).out).toContain(String.raw`rm -rf /\u{1b}[2K\u{d}ls\u{202e}\u{200b}`);
    expect((await fleet(api, ['show', 'one'])).out).not.toContain('\u001b');
  });
});

describe('fleet answer and message', () => {
  const asks = { ...pendingApproval, kind: 'Question', summary: 'Which port?', question: 'Which port?' };
  const asking = { status: { ...waiting.status, run: { ...waiting.status.run, pendingApproval: asks } } };

  test('answer the question that waits', async () => {
    await using api = await bed(asking);
    api.operator = () => ({ state: 'Done' });
    expect((await fleet(api, ['show', 'one'])).out).toMatch(/Question: +Which port\?[^]*fleet answer one -n team <text>/);
    const { code, out } = await fleet(api, ['answer', 'one', '8080']);
    expect([code, out]).toEqual([0, expect.stringContaining('answered for AgentTask one: Which port?')]);
    expect([...api.orders.values()]).toMatchObject([{ spec: { type: 'Answer', action, message: '8080', requester: 'ann' } }]);
  });

  test.each([
    ['an approval of a question', asking, ['approve', 'one'], /waits with a question; answer it with "fleet answer one <text>"/],
    ['an answer to an act', waiting, ['answer', 'one', 'yes'], /asks no question; decide about what waits/],
    [
      'a message to a task that has ended',
      { status: { phase: 'Failed', finished: 'true' } },
      ['message', 'one', 'go'],
      /has ended already/,
    ],
  ] as const)('nothing is ordered by %s', async (_, parts, args, message) => {
    await using api = await bed(parts);
    const { code, err } = await fleet(api, [...args]);
    expect([code, api.orders.size]).toEqual([1, 0]);
    expect(err).toMatch(message);
  });

  test('message gives the model words, and waits for it when asked to', async () => {
    await using api = await bed({ status: { phase: 'Running', finished: 'false' } });
    api.operator = (_, looks) =>
      looks < 3 ? { state: 'Accepted', message: 'at its next step' } : { state: 'Done', message: 'the model has it' };
    expect((await fleet(api, ['message', 'one', 'use port 8080'])).out).toContain('AgentTask one: at its next step');
    expect((await fleet(api, ['message', 'one', 'go on', '--restore', 's0003', '--wait'])).out).toContain(
      'AgentTask one: the model has it',
    );
    expect([...api.orders.values()]).toMatchObject([
      { spec: { type: 'Message', message: 'use port 8080' } },
      { spec: { message: 'go on', snapshot: 's0003' } },
    ]);
  });
});

describe('fleet cancel', () => {
  test('is done when the operator took it on, or with --wait when the task has ended', async () => {
    await using api = await bed();
    api.operator = (_, looks) =>
      looks < 3 ? { state: 'Accepted', message: 'it will be' } : { state: 'Done', message: 'the task is cancelled' };
    expect((await fleet(api, ['cancel', 'one'])).out).toContain('AgentTask one: it will be');
    expect((await fleet(api, ['cancel', 'one', '--wait'])).out).toContain('AgentTask one: the task is cancelled');
    expect([...api.orders.values()].every((order) => (order['spec'] as { action?: string }).action === undefined)).toBe(true);
  });

  test.each([
    [
      'cancels by the spec of the task',
      false,
      0,
      /^AgentTask one: spec\.cancel is Rollback, because .*orders; the reason is not recorded\n$/,
      /^$/,
    ],
    [
      'says what right is missing',
      true,
      8,
      /^$/,
      /you may not change AgentTasks in namespace team .*; ask for the ClusterRole agentfleet-editor/,
    ],
  ])('without the right to give orders it %s', async (_, neither, wanted, out, err) => {
    await using api = await bed();
    const body = { kind: 'Status', reason: 'Forbidden', message: 'ann cannot create resource "agenttaskorders"' };
    api.worker = (task) =>
      (task['spec'] as { cancel?: string }).cancel === 'Rollback' ? { phase: 'Cancelled', finished: 'true' } : undefined;
    api.refuse = ({ method, path }) =>
      (method === 'POST' && path.endsWith('agenttaskorders')) || (neither && method === 'PATCH') ? { code: 403, body } : undefined;
    const said = await fleet(api, ['cancel', 'one', '--wait', '--reason', 'late']);
    expect(said).toEqual({ code: wanted, out: expect.stringMatching(out) as string, err: expect.stringMatching(err) as string });
    expect(api.seen.filter(({ method }) => method === 'PATCH').map((seen) => seen.body)).toEqual([{ spec: { cancel: 'Rollback' } }]);
  });

  test('is refused for a task that has ended', async () => {
    await using api = await bed({ status: { phase: 'Succeeded', finished: 'true' } });
    expect(await fleet(api, ['cancel', 'one'])).toMatchObject({
      code: 1,
      err: expect.stringContaining('has ended already (Succeeded)') as string,
    });
  });
});

describe('fleet tasks', () => {
  test('lists the namespace of the context, another one, or all', async () => {
    await using api = await bed();
    api.addTask(
      'busy',
      { status: { phase: 'Running', assignment: { attempt: 2 }, run: { progress: { done: 1, total: 4, message: 'edits' } } } },
      'other',
    );
    expect((await fleet(api, ['tasks'])).out.split('\n')).toEqual([
      'NAME   PHASE              ATTEMPT   PROGRESS           AGE',
      'one    AwaitingApproval   -         git push to main   120m',
      '',
    ]);
    expect((await fleet(api, ['tasks', '-n', 'other'])).out).toContain('busy   Running   2         1/4 edits   120m');
    expect((await fleet(api, ['tasks', '--context', 'two'])).out).toContain('busy');
    const all = (await fleet(api, ['tasks', '-A'])).out;
    expect([all.includes('team        one'), all.includes('other       busy')]).toEqual([true, true]);
    expect((await fleet(api, ['tasks', '-n', 'none'])).out).toBe('there are no AgentTasks in namespace none\n');
  });
});

describe('fleet show', () => {
  test('prints the story of a task', async () => {
    await using api = await bed({
      status: {
        phase: 'AwaitingApproval',
        finished: 'false',
        clock: { startedAt: '2030-01-01T00:00:00Z', pausedSeconds: 600, pausedAt: '2030-01-01T00:30:00Z' },
        assignment: { attempt: 2, epoch: 3, worker: 'w-1', workerNamespace: 'platform', sandbox: 's-1', warm: true },
        conditions: [
          { type: 'Ready', status: 'Unknown', reason: 'AwaitingApproval', message: 'waits', lastTransitionTime: '2030-01-01T01:59:00Z' },
        ],
        attempts: [
          { number: 1, class: 'CheckFailed', reason: 'ChecksFailed', startedAt: '2030-01-01T00:00:00Z', endedAt: '2030-01-01T00:01:30Z' },
        ],
        approvals: [{ action: `sha256:${'b'.repeat(64)}`, decision: 'Rejected', at: '2030-01-01T00:20:00Z', reason: 'not on Friday' }],
        run: {
          ...waiting.status.run,
          plan: [
            { id: 'g', kind: 'Goal', intent: 'fix it', state: 'Running' },
            { id: 's', kind: 'Subtask', intent: 'parser', state: 'Done' },
          ],
          experts: [{ role: 'Verifier', name: 'ebm', digest: action }],
          signals: { energy: '-1.25', degraded: ['Planner: priors are uniform'] },
          isolation: { level: 'Landlock', network: 'Enforced' },
          artifacts: [{ name: 'trace', uri: 's3://a/trace', sha256: 'c'.repeat(64), bytes: 12 }],
          patch: '--- a\n+++ b',
        },
      },
    });
    const { out } = await fleet(api, ['show', 'one']);
    for (const line of [
      'Sandbox: s-1 (was warm)',
      'Clock:   20m of 60m, stands still',
      '  Act:    git push to main',
      '  Answer within 10m: fleet approve one -n team --action aaaaaaaaaaaaaaaa, or fleet reject one -n team --action aaaaaaaaaaaaaaaa',
      '▶ fix it',
      '    ✓ parser',
      'Verifier   ebm    sha256:aaa',
      'energy: -1.25',
      'degraded: Planner: priors are uniform',
      'level:   Landlock',
      'trace   12      cccccccccccc   s3://a/trace',
      '  +++ b',
      'Rejected   nobody in time',
      'not on Friday',
      '1        CheckFailed   ChecksFailed   90s',
    ])
      expect(out).toContain(line);
  });
});

test.each([
  ['false', /Usage of this attempt:\n {2}tokensIn: 0\n[^]*Usage of attempts that have ended:\n {2}tokensIn: 9932\n/],
  ['true', /^(?![^]*Usage of this attempt)[^]*Usage of attempts that have ended:\n {2}tokensIn: 9932\n/],
])('fleet show has what all attempts used, and that of the last one while it goes on (finished %s)', async (finished, wanted) => {
  await using api = await bed({ status: { finished, run: { usage: { tokensIn: 0 } }, totals: { usage: { tokensIn: 9932 } } } });
  expect((await fleet(api, ['show', 'one'])).out).toMatch(wanted);
});

describe('failures are printed with their cure', () => {
  const forbidden = { code: 403, body: { kind: 'Status', reason: 'Forbidden', message: 'ann cannot create agenttaskorders' } };

  test('a task that is not there, rights that are missing, a cluster without AgentFleet', async () => {
    await using api = await bed();
    expect((await fleet(api, ['show', 'two'])).err).toBe(
      'fleet: there is no AgentTask two in namespace team; look for it with "fleet tasks -A"\n',
    );
    api.refuse = ({ method, path }) => (method === 'POST' && path.endsWith('agenttaskorders') ? forbidden : undefined);
    expect(await fleet(api, ['approve', 'one'])).toMatchObject({
      code: 8,
      err: expect.stringMatching(/cannot create.*agentfleet-approver/) as string,
    });
    api.refuse = () => ({ code: 404, body: { message: '404 page not found' } });
    expect((await fleet(api, ['tasks'])).err).toContain('is AgentFleet installed in this cluster');
    expect((await fleet(api, ['show', 'one'])).err).toContain('is AgentFleet installed in this cluster');
  });

  test('a kubeconfig or context that is not there, and arguments that are none', async () => {
    await using api = await bed();
    for (const words of [
      ['uninstall', '--yes'],
      ['restore', 'file'],
    ]) {
      const { code, err } = await fleet(api, [...words, '-n', 'team']);
      expect([code, err]).toEqual([
        1,
        expect.stringContaining(`-n team: ${words[0]} is about all namespaces of the cluster; leave -n out`),
      ]);
    }
    expect((await fleet(api, ['tasks', '--kubeconfig', '/nowhere/config'])).err).toContain('give one by --kubeconfig or KUBECONFIG');
    expect((await fleet(api, ['tasks'], { env: { HOME: '/nowhere' } })).err).toContain('there is no kubeconfig');
    expect((await fleet(api, ['tasks', '--kubeconfig', api.kubeconfig], { env: {} })).code).toBe(0);
    expect((await fleet(api, ['tasks', '--context', 'three'])).err).toContain('"three"');
    expect(await fleet(api, ['aprove', 'one'])).toMatchObject({
      code: 1,
      err: expect.stringContaining("unknown command 'aprove'") as string,
    });
    expect((await fleet(api, ['approve'])).err).toContain("missing required argument 'target'");
    expect((await fleet(api, ['approve', 'one', '--timeout', 'soon'])).err).toContain('whole seconds');
    expect(api.orders.size).toBe(0);
    expect(await fleet(api, ['--help'])).toMatchObject({ code: 0, out: expect.stringContaining('approve') as string });
  });
});

test('an interruption has a status of its own, while an order is waited for as well as while events are', async () => {
  await using api = await bed();
  const signal = AbortSignal.abort();
  api.operator = () => ({ state: 'Accepted' });
  api.others.set('/apis/events.k8s.io/v1/namespaces/team/events', { kind: 'EventList', metadata: {}, items: [] });
  for (const words of [['cancel', 'one', '--wait'], ['logs', 'one', '-f', '--events'], ['logs', 'one', '-f'], ['tasks']]) {
    const { code, err } = await fleet(api, words, { signal });
    expect([words, code, err]).toEqual([words, 130, expect.stringContaining('interrupted')]);
  }
});

test('an interruption ends a conversation between two entries', async () => {
  await using api = await bed();
  const path = '/apis/results.agentfleet.dev/v1alpha1/namespaces/team/agenttasks/one/conversation';
  api.results.set(path, `${JSON.stringify({ type: 'User', seq: 3, at: '2030-01-01T00:00:00Z', origin: 'Notice', text: 'hi' })}\n`);
  api.endless.add(path);
  const stop = new AbortController();
  const { code, err } = await fleet(api, ['logs', 'one', '-f'], { signal: stop.signal, out: () => stop.abort() });
  expect([code, err]).toEqual([130, 'fleet: interrupted; AgentTask one goes on\n']);
});

test('a folder that is not there is no lack of a kubeconfig', async () => {
  const error = await writeFile('/nowhere/trace.json.part', '').catch((thrown: unknown) => thrown);
  expect(explain(error)).toEqual({ code: 1, message: expect.stringMatching(/^(?!.*kubeconfig).*\/nowhere\/trace/) as string });
});
