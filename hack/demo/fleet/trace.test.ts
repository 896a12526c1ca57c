import type { AuditRecord, AuditType } from '@agentfleet/protocol/keeper';
import { expect, test } from 'vitest';
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
      ['Noted', { kind: 'ModelReplied', data: { charged: { usage: { input: 500, output: 20 } } } }],
      ['Noted', { kind: 'CallObserved', data: { tool: 'run_checks', text: 'unit: holds' } }],
      ['Noted', { kind: 'ModelReplied', data: { charged: { usage: { input: 700, output: 10 } } } }],
      ['Noted', { kind: 'CallObserved', data: { tool: 'submit', text: 'handed in' } }],
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
    restored: { digest: 'sha256:0', verified: true, seq: 15 },
    undone: 'sha256:2',
    firstExec: Date.UTC(2026, 0, 1, 0, 0, 2),
    execs: 2,
    candidates: [{ result: 'Denied', decision: 'Deny', why: 'escape: no', k: 4 }],
    egress: [{ host: 'packages.test', decision: 'Allowed' }],
    calls: [
      { tool: 'run_checks', text: 'unit: holds' },
      { tool: 'submit', text: 'handed in' },
    ],
    charged: { tokensIn: 1200, tokensOut: 30 },
    lastChange: 12,
  });
});

test('a restore that did not finish is none', () => {
  const facts = traceFacts(
    records(['SnapshotTaken', { label: 'initial', manifestDigest: 'sha256:0' }], ['SnapshotRestored', { phase: 'Failed' }]),
  );
  expect(facts.restored).toBeUndefined();
});
