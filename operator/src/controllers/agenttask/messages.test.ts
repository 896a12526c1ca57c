import { maxWaitingMessages, type AgentTaskOrder, type AgentTaskStatus } from '@agentfleet/protocol/api';
import { expect, test } from 'vitest';
import { decide } from './decide.ts';
import type { Snapshot } from './facts/snapshot.ts';
import { ago, now, outcome, snapshotOf, taskOf, working } from './testing/snapshots.ts';

const order = (uid: string): AgentTaskOrder => ({
  apiVersion: 'agentfleet.dev/v1alpha1',
  kind: 'AgentTaskOrder',
  metadata: { name: `o-${uid}`, uid, namespace: 'team', creationTimestamp: ago(1) },
  spec: { taskRef: { name: 'one' }, type: 'Message', message: `do ${uid}`, requester: 'ann' },
});
const shown = (uid: string) => ({ id: uid, requester: 'ann', text: `do ${uid}`, at: ago(9) });
const status = (uids: readonly string[], taken?: string[], more: AgentTaskStatus = working): AgentTaskStatus => ({
  ...more,
  ...(uids.length > 0 && { messages: uids.map(shown) }),
  run: { ...more.run!, ...(taken !== undefined && { messagesTaken: taken }) },
});
const many = Array.from({ length: maxWaitingMessages + 2 }, (_, at) => `m${at}`);

test.each<readonly [string, Snapshot, readonly string[]]>([
  ['an order becomes a message', snapshotOf(taskOf(status([])), { messages: [order('a')] }), ['a']],
  ['what waits stays, and is there once', snapshotOf(taskOf(status(['a'])), { messages: [order('a'), order('b')] }), ['a', 'b']],
  ['what waits stays although its order has gone', snapshotOf(taskOf(status(['a']))), ['a']],
  ['what the model has leaves, and does not come back', snapshotOf(taskOf(status(['a', 'b'], ['a'])), { messages: [order('a')] }), ['b']],
  ['more than there is room for waits in its order', snapshotOf(taskOf(status([])), { messages: many.map(order) }), many.slice(0, maxWaitingMessages)],
  [
    'and comes when there is room',
    snapshotOf(taskOf(status(many.slice(0, maxWaitingMessages), ['m0'])), { messages: many.map(order) }),
    many.slice(1, maxWaitingMessages + 1),
  ],
  ['a task that has ended has none', snapshotOf(taskOf(status(['a'], undefined, outcome('Succeeded'))), { messages: [order('a')] }), []],
])('%s', (_, snapshot, ids) => {
  const decision = decide(snapshot, now);
  expect((decision.status.messages ?? []).map(({ id }) => id)).toEqual(ids);
  const again = { ...snapshot.task, status: { ...decision.status, run: snapshot.task.status!.run! } };
  expect(decide({ ...snapshot, task: again }, now).written).toBe(false);
}); // prettier-ignore
