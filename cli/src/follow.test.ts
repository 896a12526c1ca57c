import { mkdtemp, rm, writeFile } from 'node:fs/promises';
import { tmpdir } from 'node:os';
import { join } from 'node:path';
import { afterEach, beforeEach, describe, expect, onTestFinished, test } from 'vitest';
import { ApiServer } from './testing/apiServer.ts';
import { fleet } from './testing/fleet.ts';

let api: ApiServer;
beforeEach(async () => {
  api = await ApiServer.start();
});
afterEach(() => api[Symbol.asyncDispose]());

describe('a task that is followed while the API server fails', () => {
  /** Looks at the task from `first` to `last` are answered with a failure. */
  const failing = (code: number, first: number, last: number): void => {
    let looks = 0;
    const body = { kind: 'Status', reason: 'InternalError', message: 'leader changed' };
    api.addTask('one', {});
    api.worker = (_, seen) => (seen < 4 ? { phase: 'Running', finished: 'false' } : { phase: 'Succeeded', finished: 'true' });
    api.refuse = ({ method, path }) =>
      method === 'GET' && path.endsWith('/one') && ++looks >= first && looks <= last ? { code, body } : undefined;
  };
  const looked = (): number => api.seen.filter(({ path }) => path.endsWith('/one')).length;

  test.each([429, 500, 503, 504])('is looked at again after a %d, with one word about it', async (code) => {
    failing(code, 3, 5);
    const { code: ended, out, err } = await fleet(api, ['watch', 'one', '--plain']);
    expect([ended, out.match(/Succeeded/g)?.length, looked()]).toEqual([0, 1, 7]);
    expect(err).toMatch(/^fleet: AgentTask one cannot be read now, and is looked at again: .*leader changed\n$/);
  });

  test.each([
    ['an order', '/agenttaskorders/one-cancel-x0', ['cancel', 'one', '--wait']],
    ['the events of the cluster', '/events', ['logs', 'one', '-f', '--events']],
  ])('has %s looked at again, too', async (_, looked, words) => {
    let looks = 0;
    const body = { kind: 'Status', reason: 'InternalError', message: 'leader changed' };
    api.addTask('one', {});
    api.worker = (_task, seen) => (seen < 4 ? { phase: 'Running', finished: 'false' } : { phase: 'Succeeded', finished: 'true' });
    api.operator = (_order, seen) => ({ state: seen < 3 ? 'Accepted' : 'Done' });
    api.others.set('/apis/events.k8s.io/v1/namespaces/team/events', { kind: 'EventList', metadata: {}, items: [] });
    api.refuse = ({ method, path }) =>
      method === 'GET' && path.endsWith(looked) && ++looks > 1 && looks < 4 ? { code: 503, body } : undefined;
    const { code, err } = await fleet(api, words);
    expect([code, err.match(/cannot be read now, and is looked at again: .*leader changed/g)?.length, looks > 3]).toEqual([0, 1, true]);
  });

  test('is looked at less and less often, and until the time to wait is over', async () => {
    failing(500, 2, Infinity);
    const { code, err } = await fleet(api, ['watch', 'one', '--plain', '--timeout', '300']);
    expect([code, looked() < 20]).toEqual([7, true]);
    expect(err).toMatch(/leader changed[^]*has not ended after 300 s and goes on/);
  });

  test.each([
    ['a cluster that does not answer at all', 500, 1, 1, 10],
    ['a right that is taken away', 403, 3, 3, 8],
  ])('is left at once at %s', async (_, code, first, looks, ended) => {
    failing(code, first, Infinity);
    expect([(await fleet(api, ['watch', 'one', '--plain'])).code, looked()]).toEqual([ended, looks]);
  });
});

test('a result that was not delivered is no success', async () => {
  const output = { reason: 'AccessDenied', message: 'the forge refuses the token' };
  api.addTask('one', { status: { phase: 'Succeeded', finished: 'true', run: { output } } });
  const { code, err } = await fleet(api, ['watch', 'one', '--plain']);
  expect([code, err]).toEqual([6, expect.stringContaining('was not delivered (AccessDenied)')]);
});

describe('a task that does not get on', () => {
  const condition = (type: string, status: string, reason: string, message = '') => ({ type, status, reason, message });
  const noPool = 'there is no ExpertPool team/x';
  const refused = (reason: string, message: string, ...more: readonly object[]) => [
    condition('Accepted', 'False', reason, message),
    condition('Scheduled', 'False', 'NotAccepted', 'no pool takes the task'),
    condition('SandboxReady', 'False', 'NoSandbox', 'there is no sandbox'),
    ...more,
  ];
  const stalled = condition('Stalled', 'True', 'PolicyProfileNotAllowed', 'the pool has no profile free');
  const accepted = condition('Accepted', 'True', 'Accepted');
  const still = /^fleet: AgentTask one stands still \((\w+)\): .*; cure: .*"fleet cancel one -n team" ends it\n$/;
  const late = /has not ended after 300 s/;
  const unready = [accepted, condition('Scheduled', 'False', 'NoWorkerReady', 'ExpertPool team/x has 0 workers')];
  const unpulled = [
    accepted,
    condition('Scheduled', 'True', 'Assigned'),
    condition('SandboxReady', 'False', 'ImagePullBackOff', 'no such image'),
  ];
  const full = refused('QueueFull', '9 tasks wait');
  const starts = [accepted, condition('SandboxReady', 'False', 'Starting', 'pod s starts')];

  test.each([
    ['no pool', refused('PoolNotFound', noPool), `PoolNotFound: ${noPool}; cure: create it, or create the task again`, 11, still],
    ['a profile that is not allowed', refused(stalled.reason, stalled.message, stalled), 'NotAllowed: the pool has no profile', 11, still],
    ['a full queue, which is tried again', full, 'QueueFull: 9 tasks wait\n', 7, late],
    ['no worker', unready, 'NoWorkerReady: ExpertPool team/x has 0 workers; cure: ', 7, late],
    ['an image that is not there', unpulled, 'ImagePullBackOff: no such image; cure: ', 7, late],
    ['a sandbox that starts', starts, 'Pending\n', 7, late],
  ])('has its reason printed once: %s', async (_, conditions, line, ended, message) => {
    api.addTask('one', { status: { phase: 'Pending', finished: 'false', conditions } });
    const { code, out, err } = await fleet(api, ['watch', 'one', '--plain', '--timeout', '300']);
    expect([code, out.split(line).length]).toEqual([ended, 2]);
    expect([out.includes('NotAccepted') || out.includes('NoSandbox') || out.includes('Starting'), err]).toEqual([
      false,
      expect.stringMatching(message),
    ]);
  });

  test('is waited for again when it was mended in time', async () => {
    const conditions = refused('PoolNotFound', noPool);
    api.addTask('one', {});
    api.worker = (_, looks) =>
      looks === 130
        ? { phase: 'Succeeded', finished: 'true' }
        : { phase: 'Pending', finished: 'false', conditions: looks === 60 ? [accepted] : conditions };
    // A look a second: the minute begins anew with look 60.
    expect((await fleet(api, ['watch', 'one', '--plain'])).code).toBe(11);
    expect(api.seen.filter(({ path }) => path.endsWith('/one'))).toHaveLength(120);
  });
});

test('a patch that cannot be written hides no failed delivery, and is a failure of its own', async () => {
  const from = await mkdtemp(join(tmpdir(), 'fleet-'));
  onTestFinished(() => rm(from, { recursive: true }));
  await writeFile(join(from, 'a.txt'), 'a');
  const words = ['run', '--from', from, '--check', 'true', '--name', 'one', '--patch', '/nowhere/x.patch', 'go'];
  const ended = { phase: 'Succeeded', finished: 'true' };
  const output = { branch: 'b', reason: 'AccessDenied', message: 'the token may not push' };
  const seen: unknown[] = [];
  for (const run of [{ patch: 'diff\n', output }, { patch: 'diff\n' }]) {
    api.tasks.clear();
    api.worker = () => ({ ...ended, run });
    const { code, err } = await fleet(api, words);
    seen.push([code, err.includes('/nowhere/x.patch cannot be written (ENOENT'), err.includes('was not delivered (AccessDenied)')]);
  }
  expect(seen).toEqual([
    [6, true, true],
    [1, true, false],
  ]);
});
