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
