import { describe, expect, it } from 'vitest';
import { conditionFaults, kstatus } from '../testing/conditions.ts';
import { mergeConditions, type Condition, type WithConditions } from './conditions.ts';

const t0 = Date.UTC(2030, 0, 1);
const ready = { type: 'Ready', status: 'False', reason: 'Waiting', message: '', observedGeneration: 1 } as const;

const object = (conditions: readonly Condition[], observedGeneration = 2): WithConditions => ({
  metadata: { name: 'x', generation: 2 },
  status: { observedGeneration, conditions },
});
const make = (type: string, status: Condition['status'] = 'True'): Condition => ({
  ...ready,
  type,
  status,
  lastTransitionTime: '2030-01-01T00:00:00Z',
});

describe('conditions', () => {
  it('the transition time changes only with the status', () => {
    const first = mergeConditions(undefined, [ready], t0);
    const reason = mergeConditions(first, [{ ...ready, reason: 'Other', observedGeneration: 2 }], t0 + 5000);
    expect(reason[0]).toMatchObject({ reason: 'Other', lastTransitionTime: '2030-01-01T00:00:00Z' });
    const flipped = mergeConditions(reason, [{ ...ready, status: 'True' }], t0 + 5999);
    expect(flipped[0]?.lastTransitionTime).toBe('2030-01-01T00:00:05Z');
    expect(first[0]?.status).toBe('False');
  });

  it('what is not desired is left out', () => {
    const both = mergeConditions(undefined, [ready, { ...ready, type: 'Other' }], t0);
    const merged = mergeConditions(both, [ready], t0 + 60_000);
    expect(merged).toEqual([both[0]]);
  });

  it('kstatus follows its order', () => {
    const deleting = { ...object([make('Ready')]), metadata: { name: 'x', generation: 2, deletionTimestamp: 'now' } };
    expect(kstatus(deleting)).toBe('Terminating');
    expect(kstatus(object([make('Ready'), make('Stalled')], 1))).toBe('InProgress');
    expect(kstatus(object([make('Reconciling'), make('Stalled')]))).toBe('InProgress');
    expect(kstatus(object([make('Stalled')]))).toBe('Failed');
    expect(kstatus(object([make('Ready')]))).toBe('Current');
    expect(kstatus(object([make('Ready', 'Unknown')]))).toBe('InProgress');
    expect(kstatus({ metadata: { name: 'x' } })).toBe('Current');
  });

  it('names each broken rule of the contract', () => {
    expect(conditionFaults(object([make('Ready')]))).toEqual([]);
    expect(conditionFaults(object([make('Ready', 'False'), make('Stalled')]))).toEqual([]);
    expect(conditionFaults(object([]))).toEqual(['Ready is missing']);
    expect(conditionFaults(object([make('Ready'), make('Reconciling')]))).toHaveLength(1);
    expect(conditionFaults(object([make('Ready', 'False'), make('Reconciling'), make('Stalled')]))).toHaveLength(1);
    expect(conditionFaults(object([make('Ready'), make('Stalled', 'False')]))).toHaveLength(1);
    expect(conditionFaults(object([make('Ready')], 3))).toEqual(['observedGeneration is ahead of generation']);
  });
});
