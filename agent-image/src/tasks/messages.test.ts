import { maxMessagesTaken, type AgentTask, type Run } from '@agentfleet/protocol/api';
import { expect, test } from 'vitest';
import { messagesOf, Newest } from './assignmentRunner.ts';

const message = (id: string) => ({ id, requester: 'ann', text: `do ${id}`, at: '2030-01-01T00:00:00Z' });
const toSnapshot = { ...message('s'), snapshot: 's0003' };
const taskWith = (...ids: readonly string[]): AgentTask => ({ status: { messages: ids.map(message) } }) as unknown as AgentTask;

function open(task: AgentTask, messagesTaken?: string[]) {
  const newest = new Newest(task);
  const reporter = {
    run: { attempt: 1, epoch: 1, ...(messagesTaken !== undefined && { messagesTaken }) } as Run,
    writes: 0,
    report(change: object) {
      this.writes += 1;
      this.run = { ...this.run, ...change };
    },
  };
  return { newest, reporter, ...messagesOf(newest, reporter) };
}

test('messages are given until they are named as taken, however long the operator shows them', () => {
  const { messages, messageTaken, reporter, newest } = open(taskWith('a', 'b'));
  expect(messages()).toEqual([
    { id: 'a', text: 'do a', by: 'ann' },
    { id: 'b', text: 'do b', by: 'ann' },
  ]);
  messageTaken('a');
  messageTaken('a');
  expect(messages().map(({ id }) => id)).toEqual(['b']);
  expect([reporter.run.messagesTaken, reporter.writes]).toEqual([['a'], 1]);
  newest.see(taskWith('b', 'c'));
  expect(messages().map(({ id }) => id)).toEqual(['b', 'c']);
});

test('a message may have files put back before', () => {
  const { messages } = open({ status: { messages: [toSnapshot] } } as unknown as AgentTask);
  expect(messages()).toEqual([{ id: 's', text: 'do s', by: 'ann', snapshot: 's0003' }]);
});

test('a worker that takes over gives no message again, and the list of those that were given is bounded', () => {
  const old = Array.from({ length: maxMessagesTaken }, (_, at) => `m${at}`);
  const { messages, messageTaken, reporter } = open(taskWith('m7', 'x'), old);
  expect(messages().map(({ id }) => id)).toEqual(['x']);
  messageTaken('x');
  expect(reporter.run.messagesTaken).toEqual([...old.slice(1), 'x']);
});
