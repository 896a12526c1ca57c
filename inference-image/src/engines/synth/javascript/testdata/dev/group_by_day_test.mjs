import assert from 'node:assert/strict';
import test from 'node:test';
import { groupByDay } from './group_by_day.mjs';

test('two days', () =>
  assert.deepEqual(
    groupByDay([
      { at: '2026-01-01T10', text: 'a' },
      { at: '2026-01-02T10', text: 'b' },
    ]),
    { '2026-01-01': ['a'], '2026-01-02': ['b'] },
  ));
test('one day twice', () =>
  assert.deepEqual(
    groupByDay([
      { at: '2026-01-01T10', text: 'a' },
      { at: '2026-01-01T11', text: 'b' },
    ]),
    { '2026-01-01': ['a', 'b'] },
  ));
test('nothing', () => assert.deepEqual(groupByDay([]), {}));
