import { expect, test } from 'vitest';
import { writes, type AuditEntry, type WritesQuery } from './figures.ts';

const operator = 'system:serviceaccount:agentfleet-system:agentfleet-operator';
const entry = (verb: string, resource: string, name: string, second: number, change: object = {}): AuditEntry => ({
  verb,
  user: { username: operator },
  objectRef: { resource, name, namespace: 'demo' },
  responseStatus: { code: 200 },
  requestReceivedTimestamp: new Date(second * 1000).toISOString(),
  ...change,
});
const query: WritesQuery = { username: operator, namespace: 'demo', objects: ['agenttasks/t', 'pods/t-*'], from: 10_000, until: 20_000 };

test('counts what one account wrote of one task in its time', () => {
  const status = { objectRef: { resource: 'agenttasks', name: 't', namespace: 'demo', subresource: 'status' } };
  const entries = [
    entry('patch', 'agenttasks', 't', 11, status),
    entry('create', 'pods', 't-1', 12, { responseStatus: { code: 201 } }),
    entry('get', 'pods', 't-1', 13),
    entry('create', 'events', 't.1', 13),
    entry('patch', 'agenttasks', 'other', 13),
    entry('patch', 'agenttasks', 't', 14, { responseStatus: { code: 409 } }),
    entry('patch', 'agenttasks', 't', 15, { user: { username: 'system:serviceaccount:p:worker' } }),
    entry('patch', 'agenttasks', 't', 9),
    entry('patch', 'agenttasks', 't', 21),
    entry('patch', 'agenttasks', 't', 16, { objectRef: { resource: 'agenttasks', name: 't', namespace: 'elsewhere' } }),
  ];
  expect(writes(entries, query)).toEqual(['patch agenttasks/status t', 'create pods t-1']);
});
