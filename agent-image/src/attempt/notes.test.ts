import type { AuditRecord } from '@agentfleet/protocol/keeper';
import { expect, test } from 'vitest';
import { BegunActs } from './notes.ts';

const identity = { action: 'sha256:push', state: 'root', candidate: 'c' };
const snapshot = { id: 's0003', manifestDigest: 'sha256:3' };
const note = (kind: string, data: object): AuditRecord => ({ type: 'Noted', body: { kind, data } }) as unknown as AuditRecord;
const intent = (command: string, more: object = {}): AuditRecord =>
  note('Intent', { attempt: 1, reach: 'None', command, ...identity, once: true, ...more });
const acted = note('Acted', { attempt: 1, ...identity, snapshot });
const tried = (result: string, more: object = {}): AuditRecord => note('Tried', { attempt: 1, state: 'root', id: 'c', result, ...more });
const planned = note('EffectPlanned', { id: 'e1', attempt: 1, command: 'git push', kind: 'GitPush', target: 'it', approved: true });
const undone = note('EffectUndone', { id: 'e1', attempt: 1, undone: true, why: '' });

const observed = note('CallObserved', { attempt: 1, callKey: 'root', ok: true });
const outcome = (result: string): AuditRecord => note('Outcome', { attempt: 1, result });

const never = { after: null, unseen: 0 };
const elsewhere = { ...identity, state: 'other' };

test.each<[string, readonly AuditRecord[], typeof identity, number, object]>([
  ['were never begun', [], identity, 1, never],
  ['may be run again', [intent('make', { once: false })], identity, 1, never],
  ['were begun and no worker saw the end', [intent('make'), intent('git push')], identity, 1, { after: null, unseen: 2 }],
  ['are proposed on another tree', [intent('git push')], elsewhere, 1, { after: null, unseen: 1 }],
  ['ended', [intent('git push'), acted], identity, 1, { after: snapshot, unseen: 1 }],
  ['ended, and are proposed on another tree', [intent('git push'), acted], elsewhere, 1, { after: null, unseen: 1 }],
  ['held in place', [intent('git push'), acted, tried('Reached')], identity, 1, { after: snapshot, unseen: 1 }],
  ['were judged', [intent('git push'), tried('Worse')], elsewhere, 1, never],
  ['were refused because they may be done', [intent('git push'), tried('Denied', { possiblyDone: true })], elsewhere, 1, { after: null, unseen: 1 }],
  ['were begun again', [intent('git push'), acted, intent('git push')], identity, 1, { after: null, unseen: 2 }],
  ['were cut off in an earlier attempt', [planned, intent('git push')], identity, 2, { after: null, unseen: 1 }],
  ['stand from an earlier attempt', [planned, intent('git push'), acted, tried('Reached')], identity, 2, { after: null, unseen: 1 }],
  ['the model saw the result of, in its attempt', [planned, intent('git push'), observed], identity, 1, never],
  ['the model saw in an attempt that was cut off with its sandbox', [planned, intent('git push'), observed], identity, 2, { after: null, unseen: 1 }],
  ['the model saw, and that were taken back', [planned, intent('git push'), observed, undone], identity, 2, never],
  ['the model saw in an attempt that failed', [planned, intent('git push'), observed, outcome('Failed')], identity, 2, never],
  [
    'the model saw in an attempt that succeeded, and lost its sandbox before that was reported',
    [planned, intent('git push'), observed, outcome('Succeeded')],
    identity,
    2,
    { after: null, unseen: 1 },
  ],
  ['were taken back after an earlier attempt', [planned, intent('git push'), acted, tried('Reached'), undone], identity, 2, never],
])('of commands that %s', (_, log, asked, attempt, expected) => {
  const begun = new BegunActs();
  for (const record of log) begun.visit(record);
  expect(begun.of(asked, attempt)).toEqual(expected);
}); // prettier-ignore
