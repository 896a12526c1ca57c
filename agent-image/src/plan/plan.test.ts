import { describe, expect, test } from 'vitest';
import { addNode, changeNode, endPlan, establish, findNode, firstUnmet, initialPlan, noFacts, planDigest, type PlanNode } from './index.ts';

const step = (id: string, state: PlanNode['state'] = 'Failed'): Omit<PlanNode, 'children'> => ({
  id,
  kind: 'Step',
  intent: `try ${id}`,
  state,
  contract: { requires: ['TreeClean'], establishes: [] },
});

describe('the plan', () => {
  test('a change makes a new tree and shares the unchanged parts', () => {
    const before = initialPlan('mend it');
    const after = changeNode(before, 'verify', { state: 'Running' });
    expect(findNode(after, 'verify')?.state).toBe('Running');
    expect(findNode(before, 'verify')?.state).toBe('Pending');
    expect(findNode(after, 'repair')).toBe(findNode(before, 'repair'));
    expect(changeNode(before, 'nobody', { state: 'Done' })).toBe(before);
  });

  test('a node needs a parent and an id of its own', () => {
    const tree = addNode(initialPlan('mend it'), 'repair', step('r1'));
    expect(findNode(addNode(tree, 'r1', step('r2')), 'r2')).toBeDefined();
    expect(() => addNode(tree, 'repair', step('r1'))).toThrow('r1 already');
    expect(() => addNode(tree, 'r9', step('r2'))).toThrow('no node r9');
  });

  test('the digest lists every node, parents first, each in one line', () => {
    const tree = addNode(addNode(initialPlan('mend\n  it '), 'repair', step('r1')), 'r1', step('r2'));
    expect(planDigest(tree).map(({ id }) => id)).toEqual(['g', 'prepare', 'baseline', 'localise', 'repair', 'r1', 'r2', 'verify']);
    expect(planDigest(tree)[0]?.intent).toBe('mend it');
  });

  test.each(['Done', 'Failed', 'Dropped'] as const)('ends with its attempt: a running node is %s, and none is left open', (end) => {
    const running = changeNode(changeNode(initialPlan('mend it'), 'localise', { state: 'Done' }), 'repair', { state: 'Running' });
    const ended = endPlan(addNode(running, 'repair', step('r1', 'Pending')), end);
    const states = ['localise', 'repair', 'r1', 'verify'].map((id) => findNode(ended, id)?.state);
    expect(states).toEqual(['Done', end, 'Dropped', 'Dropped']);
    expect(planDigest(ended).filter(({ state }) => state === 'Running' || state === 'Pending')).toEqual([]);
  });

  test('contracts report the first missing fact', () => {
    const { contract } = findNode(initialPlan('mend it'), 'verify') as PlanNode;
    const facts = establish(establish(noFacts, ['BaselineJudged']), ['TreeClean']);
    expect(firstUnmet(contract.requires, facts)).toBe('ReachedInPlace');
    expect(firstUnmet(contract.requires, establish(facts, ['ReachedInPlace']))).toBeNull();
  });
});
