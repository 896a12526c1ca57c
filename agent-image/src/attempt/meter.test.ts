import type { Clock } from '@agentfleet/kube';
import type { Usage } from '@agentfleet/protocol/api';
import { describe, expect, test } from 'vitest';
import { noUsage } from '../report/index.ts';
import { boundsOf, Meter, type Bounds, type SpentTokens } from './meter.ts';

const clock: Clock = { now: () => 0, monotonic: () => 0, after: () => ({ cancel: () => undefined }) };
const earlier = { ...noUsage, tokensIn: 600, tokensOut: 100, cost: '0.4' };
const before = { ...noUsage, tokensIn: 100, tokensCached: 40, tokensOut: 50, cost: '0.1' };
const spent = (change: Partial<SpentTokens> = {}): SpentTokens => ({ input: 40, cachedInput: 30, output: 10, cost: 100_000, ...change });
const open = (bounds: Bounds, used: { readonly earlier: Usage; readonly before: Usage } = { earlier, before }): Meter =>
  new Meter(clock, used, bounds);

test('calls back at the next call of a tool, once', () => {
  const meter = open({});
  let calls = 0;
  meter.add('toolCalls');
  meter.onNextCall(() => (calls += 1));
  for (const counter of ['vetoes', 'toolCalls', 'toolCalls'] as const) meter.add(counter);
  expect(calls).toBe(1);
});

describe('tokens and cost', () => {
  test('are counted on from what the attempt used before this worker', () => {
    const meter = open({});
    expect(meter.usage()).toMatchObject({ tokensIn: 100, tokensCached: 40, tokensOut: 50, cost: '0.1' });
    meter.setTokens(spent({ input: 7, cachedInput: 0, output: 3, cost: 1 }));
    expect(meter.usage()).toMatchObject({ tokensIn: 7, tokensOut: 3, cost: '0.000001' });
  });

  test('of models without a price cost nothing', () => {
    const meter = open({}, { earlier: noUsage, before: noUsage });
    meter.setTokens(spent({ cost: null }));
    expect(meter.usage()).not.toHaveProperty('cost');
    expect(meter.modelShare()).toBe(0);
  });

  test.each<readonly [string, Bounds, string, RegExp]>([
    ['tokens', { tokens: 900 }, 'TokensExceeded', /^the task has used 900 of 900 tokens \(spec\.budget\.tokens, or the pool's\)$/],
    ['cost', { cost: '0.6' }, 'CostExceeded', /^the task has used 0\.6 of 0\.6 cost \(spec\.budget\.cost, or the pool's\)$/],
  ])('the bound of %s is that of all attempts', (_, bounds, reason, message) => {
    const meter = open(bounds);
    expect(() => meter.check()).not.toThrow();
    expect(meter.modelShare()).toBeLessThan(1);
    meter.setTokens(spent({ input: 140, cachedInput: 70, output: 60, cost: 200_000 }));
    expect(() => meter.check()).toThrow(expect.objectContaining({ failureClass: 'BudgetExceeded', reason, message: expect.stringMatching(message) as string }) as Error);
    expect(meter.modelShare()).toBe(1);
  }); // prettier-ignore
});

describe('the bounds of a task', () => {
  const most = { wallSeconds: 60, toolCalls: 10, tokens: 100, cost: '9.5' };
  const less = { wallSeconds: 59, toolCalls: 9, tokens: 99, cost: '9' };
  const raised = { wallSeconds: 61, toolCalls: 11, tokens: 101, cost: '10' };
  test.each<readonly [string, Bounds, Bounds, Bounds]>([
    ['are its own', less, most, less],
    ['are its own where the pool has none', raised, {}, raised],
    ['are those of its pool where it has none', {}, most, most],
    ['are never more than those of its pool, also when they are raised after it was let in', raised, most, most],
  ])('%s', (_, budget, maxBudget, is) => {
    expect(boundsOf({ task: { spec: { budget } }, pool: { maxBudget } } as unknown as Parameters<typeof boundsOf>[0])).toEqual(is);
  });
});
