import { appendFile, mkdtemp, rename, rm, writeFile } from 'node:fs/promises';
import { tmpdir } from 'node:os';
import { join } from 'node:path';
import { expect, it, onTestFinished } from 'vitest';
import { auditEvent, auditSince, markAudit, tally } from './auditLog.ts';

const line = (agent: string, verb: string, resource: string, code = 200, more: object = {}): string =>
  JSON.stringify({
    kind: 'Event',
    verb,
    userAgent: `${agent}/1 (linux/amd64)`,
    objectRef: { resource, namespace: 'a', ...more },
    responseStatus: { code },
    requestReceivedTimestamp: '2026-01-01T00:00:01.250000Z',
  });

it('reads what a program asked, and nothing of others or of lines that are cut off', () => {
  expect(auditEvent(line('ours', 'patch', 'tasks', 409, { subresource: 'status' }), 'ours/')).toEqual({
    verb: 'patch',
    resource: 'tasks/status',
    code: 409,
    receivedAt: Date.parse('2026-01-01T00:00:01.250Z'),
  });
  expect(auditEvent(line('theirs', 'patch', 'tasks'), 'ours/')).toBeUndefined();
  expect(auditEvent(line('ours', 'patch', 'tasks').slice(0, -20), 'ours/')).toBeUndefined();
});

it('counts attempts by what they are, and leases and watches apart', () => {
  const asked = [
    ['create', 'pods', 201],
    ['create', 'pods', 409],
    ['patch', 'tasks', 500],
    ['get', 'tasks', 200],
    ['list', 'pods', 200],
    ['watch', 'pods', 200],
    ['update', 'leases', 200],
  ] as const;
  const events = asked.map(([verb, resource, code]) => auditEvent(line('ours', verb, resource, code), 'ours/')!);
  expect(tally(events)).toEqual({
    writes: 3,
    reads: 2,
    conflicts: 1,
    errors: 1,
    calls: { 'create pods': 2, 'patch tasks': 1, 'get tasks': 1, 'list pods': 1 },
    leaseCalls: 1,
    watches: 1,
  });
});

it('reads from the mark on, also when the file was renamed and a new one begun', async () => {
  const folder = await mkdtemp(join(tmpdir(), 'audit-'));
  onTestFinished(() => rm(folder, { recursive: true }));
  const file = join(folder, 'audit.log');
  await writeFile(file, `${line('ours', 'create', 'before')}\n`);
  const mark = await markAudit(folder);
  await appendFile(file, `${line('ours', 'create', 'after')}\n`);
  await rename(file, join(folder, 'audit-2026-01-01T00-00-00.000.log'));
  await writeFile(file, `${line('ours', 'create', 'next')}\n${line('theirs', 'create', 'other')}\n`);
  const found = await auditSince(folder, mark, 'ours/');
  expect(found.map(({ resource }) => resource).toSorted()).toEqual(['after', 'next']);
});
