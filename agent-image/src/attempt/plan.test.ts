import { describe, expect, test } from 'vitest';
import type { Run } from '@agentfleet/protocol/api';
import { trim } from '../report/shape.ts';
import { Plan } from './plan.ts';

type Node = NonNullable<Run['plan']>[number];

const step = (id: string, state: Node['state'] = 'Failed'): Node => ({ id, kind: 'Step', intent: `try ${id}`, state });
const states = (plan: Plan, ...ids: readonly string[]): unknown => ids.map((id) => plan.shown.find((node) => node.id === id)?.state);

describe('the plan', () => {
  test('a change is of one node', () => {
    const plan = new Plan('mend it');
    plan.change('verify', { state: 'Running' });
    plan.change('nobody', { state: 'Done' });
    expect(states(plan, 'verify', 'repair')).toEqual(['Running', 'Pending']);
  });

  test('a node needs a parent and an id of its own', () => {
    const plan = new Plan('mend it');
    plan.add('repair', step('r1'));
    plan.add('r1', step('r2'));
    expect(plan.shown.map(({ id }) => id)).toEqual(['g', 'prepare', 'baseline', 'localise', 'repair', 'r1', 'r2', 'verify']);
    expect(() => plan.add('repair', step('r1'))).toThrow('r1 already');
    expect(() => plan.add('r9', step('r3'))).toThrow('no node r9');
  });

  test('the report keeps done and running steps when there are too many, and drops the oldest failures', () => {
    const plan = new Plan('mend it');
    plan.change('localise', { state: 'Dropped' });
    plan.add('repair', step('good', 'Done'));
    for (let at = 1; at <= 200; at += 1) plan.add(at > 100 ? 'good' : 'repair', step(`r${at}`));
    plan.add('good', step('now', 'Running'));
    const ids = trim({ attempt: 1, epoch: 1, plan: plan.shown }).plan?.map(({ id }) => id);
    expect(ids).toHaveLength(64);
    expect(ids).toEqual(expect.arrayContaining(['g', 'localise', 'repair', 'verify', 'good', 'now', 'r200', 'r150']));
    expect(ids).not.toContain('r100');
  });

  test.each(['Done', 'Failed', 'Dropped'] as const)('ends with its attempt: a running node is %s, and none is left open', (end) => {
    const plan = new Plan('mend it');
    plan.change('localise', { state: 'Done' });
    plan.change('repair', { state: 'Running' });
    plan.add('repair', step('r1', 'Pending'));
    plan.end(end);
    expect(states(plan, 'localise', 'repair', 'r1', 'verify')).toEqual(['Done', end, 'Dropped', 'Dropped']);
    expect(plan.shown.filter(({ state }) => state === 'Running' || state === 'Pending')).toEqual([]);
  });

  test('texts keep to the bounds of the API', () => {
    const [goal] = trim({ attempt: 1, epoch: 1, plan: new Plan('🙂'.repeat(4096)).shown }).plan ?? [];
    expect(Array.from(goal?.intent ?? '')).toHaveLength(96);
  });
});
