import { createHash } from 'node:crypto';
import { describe, expect, test } from 'vitest';
import { brokenPromises, condition, useFleet } from './fleet.ts';
import { contradiction, oneBug, slowUnittest } from './repositories.ts';
import { readAsViewer } from './viewer.ts';

const fleet = useFleet('outcomes');

describe('an AgentTask', () => {
  test('repairs a bug and proves it with the checks, and leaves patch, revert script and trace', async () => {
    await fleet.task('fix', oneBug);
    const task = await fleet.finished('fix');
    expect(condition(task, 'Succeeded'), await fleet.explain('fix')).toMatchObject({ status: 'True' });
    const { run } = task.status ?? {};
    expect(run?.patch).toMatch(/^\+.*start <= merged/m);
    expect(run?.outcome?.checks).toMatchObject([{ name: 'unit', passed: 8, failed: 0 }]);
    const names = (run?.artifacts ?? []).map(({ name }) => name);
    expect(names).toEqual(expect.arrayContaining(['change.patch', 'revert.tar', 'trace.ndjson']));
    for (const { uri, sha256, bytes } of run?.artifacts ?? []) {
      const content = await fleet.artifacts.get(uri);
      expect([content.length, createHash('sha256').update(content).digest('hex')]).toEqual([bytes, sha256]);
    }
    expect(brokenPromises(fleet, 'fix')).toEqual([]);
    // A user without keys of the storage reads the same.
    const seen = await readAsViewer(fleet, task);
    expect([seen.patch, seen.errors]).toEqual([run?.patch, '']);
    expect(seen.raw).toBe(run?.patch?.trimEnd());
    expect(seen.log).toMatch(/all checks hold in a fresh container/);
  });

  test('that cannot be met is rolled back, and the hash proves it', async () => {
    await fleet.task('never', contradiction, { budget: { toolCalls: 120 } });
    const task = await fleet.finished('never');
    expect(condition(task, 'Succeeded'), await fleet.explain('never')).toMatchObject({ status: 'False' });
    expect(condition(task, 'RolledBack')).toMatchObject({ status: 'True', reason: 'Restored' });
    const { run } = task.status ?? {};
    expect(run?.rollback).toMatchObject({ verified: true, snapshot: run?.snapshots?.initial });
    const trace = (await fleet.artifacts.get(run?.artifacts?.find(({ name }) => name === 'trace.ndjson')?.uri ?? '')).toString('utf8');
    const records = trace
      .trim()
      .split('\n')
      .map((line) => JSON.parse(line) as { type: string; body: { id?: string; manifestDigest?: string } });
    const initial = records.find(({ type, body }) => type === 'SnapshotTaken' && body.id === run?.snapshots?.initial);
    expect(initial?.body.manifestDigest).toBe(run?.rollback?.manifestDigest);
    expect(brokenPromises(fleet, 'never')).toEqual([]);
  });

  test('keeps nothing of a finished sandbox', async () => {
    await fleet.finished('fix');
    await fleet.run('wait', '--for=delete', 'pod', '-l', 'agentfleet.dev/task=fix', '--timeout=240s');
  });

  test('is understandable from its log alone', async () => {
    const table = await fleet.run('get', 'aft');
    expect(table).toMatch(/^fix\s+Succeeded\s+pool\s/m);
    expect(table).toMatch(/^never\s+Failed\s+pool\s/m);
    const story = await fleet.run('describe', 'aft', 'never');
    for (const word of ['RolledBack', 'Restored', 'Snapshot', 'Events']) expect(story).toContain(word);
  });

  test('stops and rolls back when it is cancelled', async () => {
    await fleet.task('cancelled', oneBug, { checks: [{ name: 'unit', command: slowUnittest }] });
    await fleet.until('cancelled', 'runs', 60, (task) => task.status?.phase === 'Running');
    await fleet.run('patch', 'aft', 'cancelled', '--type=merge', '-p', '{"spec":{"cancel":"Rollback"}}');
    const task = await fleet.finished('cancelled');
    expect(task.status?.phase).toBe('Cancelled');
    expect(condition(task, 'RolledBack')).toMatchObject({ status: 'True' });
  });

  test('is cancelled by an order, whose status has the result', async () => {
    await fleet.task('ordered', oneBug, { checks: [{ name: 'unit', command: slowUnittest }] });
    await fleet.until('ordered', 'runs', 60, (task) => task.status?.phase === 'Running');
    const requester = (await fleet.kubectl.json<{ status: { userInfo: { username: string } } }>(['auth', 'whoami'])).status.userInfo
      .username;
    const spec = { taskRef: { name: 'ordered' }, type: 'Cancel', reason: 'changed my mind', requester };
    await fleet.apply('AgentTaskOrder', 'cancel-ordered', spec);
    const task = await fleet.finished('ordered');
    expect(task.status?.phase, await fleet.explain('ordered')).toBe('Cancelled');
    expect(condition(task, 'RolledBack')).toMatchObject({ status: 'True' });
    await fleet.run('wait', '--for=jsonpath={.status.state}=Done', 'agenttaskorder/cancel-ordered', '--timeout=240s');
  });

  test('waits while it is suspended and continues afterwards', async () => {
    await fleet.task('paused', oneBug, { checks: [{ name: 'unit', command: slowUnittest }] });
    await fleet.until('paused', 'runs', 60, (task) => task.status?.phase === 'Running');
    await fleet.run('patch', 'aft', 'paused', '--type=merge', '-p', '{"spec":{"suspend":true}}');
    await fleet.until('paused', 'suspended', 30, (task) => task.status?.phase === 'Suspended');
    await fleet.run('patch', 'aft', 'paused', '--type=merge', '-p', '{"spec":{"suspend":false}}');
    const task = await fleet.finished('paused');
    expect(task.status?.phase, await fleet.explain('paused')).toBe('Succeeded');
    expect(brokenPromises(fleet, 'paused')).toEqual([]);
  });

  test('that is deleted in the middle leaves no objects', async () => {
    await fleet.task('gone', oneBug, { checks: [{ name: 'unit', command: slowUnittest }] });
    await fleet.until('gone', 'runs', 60, (task) => task.status?.phase === 'Running');
    await fleet.run('delete', 'aft', 'gone', '--timeout=240s');
    await fleet.run('wait', '--for=delete', 'pod', '-l', 'agentfleet.dev/task=gone', '--timeout=240s');
  });
});
