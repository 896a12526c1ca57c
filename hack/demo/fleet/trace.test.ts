import { appendFile, mkdtemp, readFile, rm } from 'node:fs/promises';
import { tmpdir } from 'node:os';
import { join } from 'node:path';
import { EventLog } from '@agentfleet/keeper/log';
import type { AuditRecord, AuditType } from '@agentfleet/protocol/keeper';
import { afterEach, beforeEach, expect, test } from 'vitest';
import { readChain } from './readTrace.ts';
import { traceFacts } from './trace.ts';

function records(...entries: readonly (readonly [AuditType, Record<string, unknown>])[]): readonly AuditRecord[] {
  return entries.map(([type, body], index) => ({
    seq: index + 1,
    at: new Date(Date.UTC(2026, 0, 1, 0, 0, index)).toISOString(),
    type,
    epoch: 1,
    body,
    prev: '',
    hash: '',
  }));
}

test('reads snapshot 0, the restore and what came after it', () => {
  const facts = traceFacts(
    records(
      ['SnapshotTaken', { label: 'empty', manifestDigest: 'sha256:e' }],
      ['SnapshotTaken', { label: 'initial', manifestDigest: 'sha256:0' }],
      ['ExecRequested', {}],
      ['SnapshotRestored', { phase: 'Done', manifestDigest: 'sha256:1', verified: true }],
      ['Noted', { kind: 'Tried', data: { result: 'Denied', decision: 'Deny', why: 'escape: no', signals: { k: 4 } } }],
      ['Noted', { kind: 'Egress', data: { requests: [{ host: 'packages.test', decision: 'Allowed' }] } }],
      ['FileWritten', {}],
      ['ExecRequested', {}],
      ['SnapshotTaken', { label: 'before', manifestDigest: 'sha256:2' }],
      ['SnapshotRestored', { phase: 'Intent' }],
      ['SnapshotRestored', { phase: 'Done', manifestDigest: 'sha256:0', verified: true }],
      ['Noted', { kind: 'RolledBack' }],
    ),
  );
  expect(facts).toEqual({
    initial: 'sha256:0',
    restored: { digest: 'sha256:0', verified: true, seq: 11 },
    undone: 'sha256:2',
    firstExec: Date.UTC(2026, 0, 1, 0, 0, 2),
    execs: 2,
    candidates: [{ result: 'Denied', decision: 'Deny', why: 'escape: no', k: 4 }],
    egress: [{ host: 'packages.test', decision: 'Allowed' }],
    lastChange: 8,
  });
});

test('a restore that did not finish is none', () => {
  const facts = traceFacts(
    records(['SnapshotTaken', { label: 'initial', manifestDigest: 'sha256:0' }], ['SnapshotRestored', { phase: 'Failed' }]),
  );
  expect(facts.restored).toBeUndefined();
});

let folder: string;
beforeEach(async () => {
  folder = await mkdtemp(join(tmpdir(), 'trace-'));
});
afterEach(() => rm(folder, { recursive: true }));

test('an altered record breaks the chain', async () => {
  const file = join(folder, 'log');
  const clock = { now: () => 0, sleep: () => Promise.resolve(), after: () => () => undefined };
  const { log } = await EventLog.open({ file, clock, epoch: () => 1 });
  await log.commit('Noted', { kind: 'A' });
  await log.commit('Noted', { kind: 'B' });
  await log.close();
  const text = await readFile(file, 'utf8');
  expect(await readChain(Buffer.from(text))).toMatchObject({ ok: true, records: [{ seq: 1 }, { seq: 2 }] });
  const forged = await readChain(Buffer.from(text.replace('"kind":"A"', '"kind":"X"')));
  expect(forged).toMatchObject({ ok: false, why: expect.stringContaining('record 1') as string });
  await appendFile(file, '{}\n');
  expect((await readChain(await readFile(file))).ok).toBe(false);
  expect((await readChain(Buffer.alloc(0))).ok).toBe(false);
});
