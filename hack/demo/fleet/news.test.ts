import type { AgentTask, AgentTaskStatus } from '@agentfleet/protocol/api';
import { expect, test } from 'vitest';
import { news } from './follow.ts';

const task = (status: object): AgentTask =>
  ({
    apiVersion: 'agentfleet.dev/v1alpha1',
    kind: 'AgentTask',
    metadata: { name: 't' },
    spec: {},
    status: status as AgentTaskStatus,
  }) as AgentTask;
const scheduled = (status: string, reason: string, message = ''): object => ({ type: 'Scheduled', status, reason, message });

test('the first state is all news', () => {
  expect(news(undefined, task({ phase: 'Queued', conditions: [scheduled('False', 'PoolFull', 'the pool is full')] }))).toEqual([
    'Queued',
    'Scheduled=False (PoolFull): the pool is full',
  ]);
});

test('what stayed the same is no news, a new message of a condition neither', () => {
  const before = task({ phase: 'Queued', conditions: [scheduled('False', 'PoolFull', '2 before it')] });
  expect(news(before, task({ phase: 'Queued', conditions: [scheduled('False', 'PoolFull', '1 before it')] }))).toEqual([]);
  expect(news(before, task({ phase: 'Running', conditions: [scheduled('True', 'Assigned')] }))).toEqual([
    'Running',
    'Scheduled=True (Assigned)',
  ]);
});

test('tells each step of the worker once, and its outcome', () => {
  const at = (done: number, message: string, outcome?: object): AgentTask =>
    task({ phase: 'Running', run: { attempt: 1, epoch: 1, progress: { done, total: 4, message }, ...(outcome && { outcome }) } });
  expect(news(at(1, 'a'), at(2, 'b'))).toEqual(['2/4 b']);
  expect(news(at(2, 'b'), at(2, 'b'))).toEqual([]);
  expect(news(at(2, 'b'), at(2, 'b', { result: 'Failed', reason: 'Stuck' }))).toEqual(['worker: Failed (Stuck)']);
});

test('what is not known yet, and what others say too, is left out', () => {
  const unknown = { type: 'Succeeded', status: 'Unknown', reason: 'Running', message: '' };
  const summary = { type: 'Ready', status: 'False', reason: 'Running', message: '' };
  expect(news(undefined, task({ conditions: [unknown, summary] }))).toEqual([]);
  expect(news(undefined, task({ conditions: [{ ...unknown, status: 'False' }] }))).toEqual(['Succeeded=False (Running)']);
});
