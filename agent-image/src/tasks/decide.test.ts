import { describe, expect, it } from 'vitest';
import type { AgentTask } from '@agentfleet/protocol/api';
import { decide, mostBeside, rollbackTarget, see, type Decision, type Gate, type Known, type Seen } from './decide.ts';

const open: Gate = { fresh: true, accepting: true, active: 0, concurrency: 2 };
const seen: Seen = { uid: 'u', epoch: 3, directive: 'Run', fulfilled: false };
const known: Known = { uid: 'u', epoch: 3, directive: 'Run', state: 'Active' };

type Row = readonly [string, Known | undefined, Seen | undefined, Partial<Gate>, Decision];

const rows: readonly Row[] = [
  ['nothing and nothing', undefined, undefined, {}, { type: 'None' }],
  ['a new assignment', undefined, seen, {}, { type: 'Start' }],
  ['an assignment that is fulfilled already, after a restart', undefined, { ...seen, fulfilled: true }, {}, { type: 'None' }],
  ['a rollback after a restart', undefined, { ...seen, directive: 'Rollback' }, {}, { type: 'Start' }],
  ['a new one while the lease is stale', undefined, seen, { fresh: false }, { type: 'None' }],
  ['a new one while the process stops', undefined, seen, { accepting: false }, { type: 'None' }],
  ['a new one while all places are taken', undefined, seen, { active: 2 }, { type: 'Wait' }],
  ['nothing has changed', known, seen, {}, { type: 'None' }],
  ['what ends work while all places are taken', undefined, { ...seen, directive: 'Rollback' }, { active: 2 }, { type: 'Start' }],
  ['what ends work beside as much of it', undefined, { ...seen, directive: 'Quiesce' }, { active: mostBeside }, { type: 'Wait' }],
  ['all places taken, by this one too', known, seen, { active: 2 }, { type: 'None' }],
  ['another directive', known, { ...seen, directive: 'Rollback' }, {}, { type: 'Interrupt', reason: 'Rollback' }],
  ['another directive while it is ending', { ...known, state: 'Ending' }, { ...seen, directive: 'Stop' }, {}, { type: 'None' }],
  ['another directive after the end', { ...known, state: 'Done' }, { ...seen, directive: 'Rollback' }, {}, { type: 'Start' }],
  [
    'another directive while the process stops',
    { ...known, state: 'Done' },
    { ...seen, directive: 'Stop' },
    { accepting: false },
    { type: 'None' },
  ],
  ['the same directive after the end', { ...known, state: 'Done' }, seen, {}, { type: 'None' }],
  ['a later epoch', known, { ...seen, epoch: 4 }, {}, { type: 'Drop' }],
  ['a later epoch after the end', { ...known, state: 'Done' }, { ...seen, epoch: 4 }, {}, { type: 'Drop' }],
  ['a later epoch while it is ending', { ...known, state: 'Ending' }, { ...seen, epoch: 4 }, {}, { type: 'Drop' }],
  ['an older epoch from a cache that lags', known, { ...seen, epoch: 2 }, {}, { type: 'None' }],
  ['a task of the same name that was made anew', known, { ...seen, uid: 'v', epoch: 1 }, {}, { type: 'Drop' }],
  ['deleted or assigned to another worker', known, undefined, {}, { type: 'Drop' }],
  ['deleted while it is ending', { ...known, state: 'Ending' }, undefined, {}, { type: 'Drop' }],
  ['the lease became stale', known, seen, { fresh: false }, { type: 'Drop' }],
  ['the lease became stale after the end', { ...known, state: 'Done' }, seen, { fresh: false }, { type: 'Drop' }],
  ['the epoch was refused', { ...known, state: 'Spent' }, { ...seen, directive: 'Stop' }, {}, { type: 'None' }],
  ['a later epoch than the refused one', { ...known, state: 'Spent' }, { ...seen, epoch: 4 }, {}, { type: 'Drop' }],
];

describe('the action for a task', () => {
  it.for(rows)('%s', ([, known, seen, gate, decision]) => {
    expect(decide(known, seen, { ...open, ...gate })).toEqual(decision);
  });
});

describe('the state of a task for this worker', () => {
  const pod = { name: 'worker-0', namespace: 'platform' };
  const assignment = { attempt: 2, epoch: 3, worker: 'worker-0', workerNamespace: 'platform', directive: 'Run' };
  const task = (status: Readonly<Record<string, unknown>>): AgentTask =>
    ({ metadata: { name: 'a', uid: 'u' }, spec: {}, status }) as unknown as AgentTask;
  const outcome = { result: 'Succeeded', reason: 'ChecksPassed' };

  it.for([
    ['no assignment', {}],
    ['another worker', { assignment: { ...assignment, worker: 'worker-1' } }],
    ['a namesake in another namespace', { assignment: { ...assignment, workerNamespace: 'team' } }],
    ['the end', { assignment, finished: 'true' }],
    [
      'a sandbox that never came to work',
      { assignment: { ...assignment, directive: 'Quiesce' }, attempts: [{ number: 2, started: false }] },
    ],
  ] as const)('nothing: %s', ([, status]) => {
    expect(see(task(status), pod)).toBeUndefined();
  });

  it('is there again with the attempt after one whose sandbox never came to work', () => {
    expect(see(task({ assignment, attempts: [{ number: 1, started: false }] }), pod)).toMatchObject({ epoch: 3, directive: 'Run' });
  });

  it('counts only a report of this very attempt and epoch as fulfilled', () => {
    const fulfilled = (run: Readonly<Record<string, unknown>>, directive = 'Run'): boolean | undefined =>
      see(task({ assignment: { ...assignment, directive }, run }), pod)?.fulfilled;
    expect(fulfilled({ attempt: 2, epoch: 3, outcome })).toBe(true);
    expect(fulfilled({ attempt: 2, epoch: 2, outcome })).toBe(false);
    expect(fulfilled({ attempt: 1, epoch: 3, outcome })).toBe(false);
    expect(fulfilled({ attempt: 2, epoch: 3, outcome }, 'Rollback')).toBe(false);
    expect(fulfilled({ attempt: 2, epoch: 3, rollback: { snapshot: 's0000', verified: true } }, 'Rollback')).toBe(true);
    expect(fulfilled({ attempt: 2, epoch: 3, outcome }, 'Stop')).toBe(true);
  });

  it.for([
    ['Rollback', 'RestoreLastGreen', 'Initial'],
    ['None', 'RestoreLastGreen', 'LastGreen'],
    ['None', 'RestoreInitial', 'Initial'],
  ] as const)('restores by cancel %s and whenFailed %s: %s', ([cancel, whenFailed, which]) => {
    expect(rollbackTarget({ spec: { cancel, rollback: { whenFailed } } } as unknown as AgentTask)).toBe(which);
  });

  it('restores snapshot 0 for a task that an order cancelled, also between two attempts', () => {
    const spec = { cancel: 'None', rollback: { whenFailed: 'RestoreLastGreen' } };
    const judged = (reason: string): AgentTask => {
      const attempts = [{ number: 1, reason: 'ChecksFailed', class: 'CheckFailed' }];
      return { spec, status: { attempts, conditions: [{ type: 'Succeeded', status: 'False', reason }] } } as unknown as AgentTask;
    };
    expect(rollbackTarget(judged('Cancelled'))).toBe('Initial');
    expect(rollbackTarget(judged('CheckFailed'))).toBe('LastGreen');
  });
});
