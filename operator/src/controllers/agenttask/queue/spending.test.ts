import { findCondition, ResourceClient } from '@agentfleet/kube';
import type { AgentTaskStatus } from '@agentfleet/protocol/api';
import { describe, expect, test } from 'vitest';
import { bookOf, bookText, emptyBook, type Held, spendingKey } from '../../../pools/spending.ts';
import { labels } from '@agentfleet/protocol/pool';
import { spendingName } from '../../../pools/names.ts';
import { resources } from '../../../runtime/resources.ts';
import { decide } from '../decide.ts';
import { Bed } from '../testing/bed.ts';
import { newPool, newTask } from '../testing/objects.ts';
import { ago, assignment, now, snapshotOf, taskOf, worker, working } from '../testing/snapshots.ts';
import { fails, obedient, playWorkers, usage, works } from '../testing/scriptedWorker.ts';
import type { SpendingView } from './spending.ts';

const pool = newPool({ policy: { maxBudget: { tokens: 10 } }, limits: { spending: { windowSeconds: 60, tokens: 100 } } });
const held: Held = { uid: 'u-1', namespace: 'team', name: 'one', attempt: 1, tokens: 10, micros: 0 };
const heldIn = (attempt: number) => ({ ...held, attempt, pool: 'platform/coding' });
const full = { ...emptyBook, held: [{ ...held, uid: 'u-2', tokens: 95 }] };
const crowded = { ...emptyBook, held: Array.from({ length: 7000 }, (_, at) => ({ ...held, uid: `${'u'.repeat(60)}${at}`, tokens: 0 })) };
const ended = { number: 1, startedAt: ago(100), endedAt: ago(50), class: 'CheckFailed', reason: 'ChecksFailed', usage } as const;
const unstarted = {
  number: 1,
  startedAt: ago(9),
  endedAt: ago(1),
  class: 'Infrastructure',
  reason: 'Unschedulable',
  started: false,
} as const;
const again: AgentTaskStatus = { ...working, attempts: [ended], totals: { usage } };
const done: AgentTaskStatus = { ...again, finished: 'true', phase: 'Failed' };

/** Why it is not scheduled, and what is done about money. */
function reported(status: AgentTaskStatus | undefined, spending: SpendingView, spec: object = {}, of = pool): unknown {
  const snapshot = snapshotOf(taskOf(status, spec), { resolution: { pool: of }, prepared: true, workers: [worker('w-1')], spending });
  const decision = decide(snapshot, now);
  const money = decision.actions.flatMap((action) => {
    if (action.type === 'setAsideSpending') return [`aside ${action.held.attempt}: ${action.held.tokens}`];
    return action.type === 'settleSpending' ? [`charged ${action.held.attempt}: ${action.amount?.tokens ?? 'all'}`] : [];
  });
  const scheduled = findCondition(decision.status.conditions, 'Scheduled');
  return [scheduled?.reason, ...money, ...(money[0]?.startsWith('aside') === true ? [decision.status.assignment?.budget] : [])];
}

describe('a task of a pool that caps what is spent', () => {
  test.each<{ name: string; status?: AgentTaskStatus; view: SpendingView; is: readonly unknown[]; spec?: object }>([
    { name: 'begins with its worst case set aside', view: { book: emptyBook }, is: ['Assigned', 'aside 1: 10', { tokens: 10 }] },
    {
      name: 'begins with its own budget',
      view: { book: emptyBook },
      is: ['Assigned', 'aside 1: 4', { tokens: 4 }],
      spec: { budget: { tokens: 4 } },
    },
    { name: 'waits when that does not fit', view: { book: full }, is: ['SpendingCapReached'] },
    { name: 'fits with less', view: { book: full }, is: ['Assigned', 'aside 1: 5', { tokens: 5 }], spec: { budget: { tokens: 5 } } },
    { name: 'waits while the book cannot be read', view: { book: null }, is: ['SpendingUnknown'] },
    { name: 'waits while the book has no room for another attempt', view: { book: crowded }, is: ['SpendingBookFull'] },
    { name: 'keeps what is set aside while it runs', status: working, view: { book: emptyBook, held: heldIn(1) }, is: ['Assigned'] },
    {
      name: 'waits until its last attempt is charged',
      status: again,
      view: { book: emptyBook, held: heldIn(1) },
      is: ['SpendingNotSettled', 'charged 1: 3'],
    },
    {
      name: 'gives all back when its sandbox did not start, until it is tried again',
      status: { ...working, attempts: [unstarted] },
      view: { book: emptyBook, held: heldIn(1) },
      is: ['Backoff', 'charged 1: 0'],
    },
    { name: 'goes on with what is left', status: again, view: { book: emptyBook }, is: ['Assigned', 'aside 2: 7', { tokens: 10 }] },
    {
      name: 'gives back what it does not come to spend',
      status: again,
      view: { book: full, held: heldIn(2) },
      is: ['SpendingCapReached', 'charged 2: 0'],
    },
    { name: 'is charged when it has ended', status: done, view: { book: emptyBook, held: heldIn(1) }, is: [undefined, 'charged 1: 3'] },
    { name: 'is charged all where no attempt tells', status: done, view: { held: heldIn(0) }, is: [undefined, 'charged 0: all'] },
  ])('$name', ({ status, view, is, spec = {} }) => {
    expect(reported(status, view, spec)).toEqual(is);
  });

  test('that could never fit is refused, with field and cure', () => {
    const spec = { budget: { tokens: 150 } };
    const wide = newPool({ policy: { maxBudget: { tokens: 1000 } }, limits: { spending: { windowSeconds: 60, tokens: 100 } } });
    const decision = decide(snapshotOf(taskOf(undefined, spec), { resolution: { pool: wide }, spending: { book: emptyBook } }), now);
    const { reason, message } = findCondition(decision.status.conditions, 'Accepted')!;
    expect(reason).toBe('BudgetTooHigh');
    expect(message).toMatch(/spec\.budget\.tokens.* 150, and spec\.limits\.spending\.tokens of the pool allows 100 .* raise the cap/);
  });

  test('in one without caps nothing is set aside, and an assignment has no budget', () => {
    expect(reported(undefined, {}, {}, newPool())).toEqual(['Assigned']);
    expect(assignment.budget).toBeUndefined();
  });
});

test.each([
  [
    'SpendingCapReached',
    'is full',
    JSON.stringify({ ...emptyBook, since: 2e12, windowSeconds: 86_400, spent: { team: { tokens: 95, micros: 0, estimated: 0 } } }),
  ],
  ['SpendingUnknown', 'is damaged', '{oops'],
])('%s: a book that %s is deleted, and who waits for it begins with the window', async (reason, _, text) => {
  await using bed = await Bed.start(
    newPool({ policy: { maxBudget: { tokens: 60 } }, limits: { spending: { windowSeconds: 86_400, tokens: 100 } } }),
  );
  playWorkers(
    bed,
    obedient(() => works),
  );
  const maps = new ResourceClient(bed.transport, resources.configMaps);
  const book = () => bed.server.objects(resources.configMaps).find(({ data }) => data?.[spendingKey] !== undefined);
  await bed.create(newTask('one'));
  await bed.until('one runs', () => bed.task('one').status?.run !== undefined);
  await maps.patch(book()!.metadata, { data: { [spendingKey]: text } });
  await bed.create(newTask('two'));
  await bed.until('two waits', () => findCondition(bed.task('two').status?.conditions, 'Scheduled')?.reason === reason);
  await maps.delete(book()!.metadata);
  await bed.until('two runs', () => bed.task('two').status?.run !== undefined, 400);
});

test('a book that cannot be written is reported, and the task begins when it can', async () => {
  await using bed = await Bed.start(pool);
  playWorkers(
    bed,
    obedient(() => works),
  );
  const message = 'exceeded quota: objects, requested: count/configmaps=1';
  bed.server.onRequest = ({ verb, resource, namespace, userAgent }) =>
    verb === 'create' && resource === 'configmaps' && namespace === 'platform' && userAgent.startsWith('operator')
      ? { kind: 'error', code: 403, reason: 'Forbidden', message }
      : undefined;
  await bed.create(newTask('one'));
  const scheduled = () => findCondition(bed.task('one').status?.conditions, 'Scheduled');
  await bed.until('it is reported', () => scheduled()?.reason === 'ResourceQuotaExceeded', 200);
  expect(scheduled()?.message).toContain(`spending is noted in a ConfigMap beside ExpertPool platform/coding:`);
  expect(scheduled()?.message).toContain(message);
  bed.server.onRequest = undefined;
  await bed.until('it runs', () => bed.task('one').status?.run !== undefined, 400);
});

test.each([
  ['without a pool', undefined, 1],
  ['of a pool of the tenant', 'own', 2],
])('a book %s that somebody wrote keeps no attempt of a task from being charged to its pool', async (_, own, attempt) => {
  const namespace = 'team';
  const capped = newPool({ policy: { maxBudget: { tokens: 60 } }, limits: { spending: { windowSeconds: 86_400, tokens: 100 } } });
  await using bed = await Bed.start(capped);
  if (own !== undefined) await bed.createPool({ ...newPool({}, own), metadata: { name: own, namespace } });
  playWorkers(
    bed,
    obedient(({ attempt }) => (attempt === 1 ? fails() : works)),
  );
  await bed.create(newTask('one', { suspend: true, attempts: { max: 2, backoff: { seconds: 0 } } }));
  const { uid = '' } = bed.task('one').metadata;
  const forged = { ...emptyBook, held: [{ ...held, uid, attempt }] };
  const marks = { [labels.component]: 'spending', [labels.pool]: own ?? 'none' };
  const metadata = { name: spendingName(own ?? 'none'), namespace, labels: marks };
  await new ResourceClient(bed.transport, resources.configMaps).create({ metadata, data: { [spendingKey]: bookText(forged) } });
  await bed.pass(1);
  await bed.tasks.patch({ name: 'one', namespace }, { spec: { suspend: false } });
  await bed.until('the second attempt runs', () => bed.task('one').status?.run?.attempt === 2);
  const book = bed.server.objects(resources.configMaps).find((map) => map.metadata.namespace === 'platform' && map.data?.[spendingKey]);
  expect(bookOf(book?.data?.[spendingKey])?.spent).toEqual({ team: { tokens: 3, micros: 0, estimated: 0 } });
});
