import { findCondition } from '@agentfleet/kube';
import { expect, test } from 'vitest';
import { decide } from './decide.ts';
import { ago, now, snapshotOf, taskOf } from './testing/snapshots.ts';

const waiting = (age: number) => {
  const task = taskOf(undefined);
  return snapshotOf({ ...task, metadata: { ...task.metadata, creationTimestamp: ago(age) } }, { prepared: false });
};

test('a namespace that is prepared in a moment costs no write', () => {
  const decision = decide(waiting(0), now);
  expect([decision.written, decision.events, decision.requeueAfterMs]).toEqual([false, [], 2000]);
  expect(decision.status.assignment).toBeUndefined();
});

test('a namespace that is not prepared after that is reported', () => {
  const { written, status } = decide(waiting(3), now);
  expect(written).toBe(true);
  expect(findCondition(status.conditions, 'Scheduled')?.reason).toBe('NamespaceNotPrepared');
});

test('what the API server refuses there is named, with a cure', () => {
  const unprepared = 'secrets "agentfleet-link" is forbidden: exceeded quota: objects, requested: count/secrets=1';
  const { status } = decide({ ...waiting(3), unprepared }, now);
  expect(findCondition(status.conditions, 'Scheduled')?.message).toContain(`team cannot be prepared for sandboxes: ${unprepared}; raise`);
});
