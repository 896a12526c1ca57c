import * as fc from 'fast-check';
import { describe, expect, it } from 'vitest';
import type { ComputeBrief } from '@agentfleet/protocol/pool';
import type { Situation } from '../attempt/ports.ts';
import { schedule } from './schedule.ts';

const defaults: ComputeBrief = { entropyFastNats: 2.5, margin: 1.5, riskThreshold: 0.6, kBase: 2, kMax: 8, earlyExitMargin: 1.5 };
const sure: Situation = { entropyNats: 0.5, margin: 3, risk: 0.1, deliberate: false };

const settings = fc
  .record({
    entropyFastNats: fc.double({ min: 0, max: 10, noNaN: true }),
    margin: fc.double({ min: 0, max: 10, noNaN: true }),
    riskThreshold: fc.double({ min: 0, max: 1, noNaN: true }),
    kBase: fc.integer({ min: 1, max: 64 }),
    kMax: fc.integer({ min: 1, max: 64 }),
    earlyExitMargin: fc.double({ min: 0, max: 10, noNaN: true }),
  })
  .filter(({ kBase, kMax }) => kBase <= kMax);
const unsure = (bound: number) => fc.option(fc.double({ min: 0, max: bound, noNaN: true }), { nil: null });
const situations = fc.record({ entropyNats: unsure(12), margin: unsure(12), risk: unsure(1), deliberate: fc.boolean() });

describe('the compute scheduler', () => {
  it.for([
    ['a clear favourite', sure, { k: 1, deliberate: false }],
    ['an even field', { ...sure, entropyNats: 4 }, { k: 2, deliberate: false }],
    ['two that are close', { ...sure, margin: 0.2 }, { k: 2, deliberate: false }],
    ['a single proposal, which has no margin', { ...sure, margin: null }, { k: 2, deliberate: false }],
    ['nothing known yet', { entropyNats: null, margin: null, risk: null, deliberate: false }, { k: 2, deliberate: false }],
    ['a risk at the threshold', { ...sure, risk: 0.6 }, { k: 1, deliberate: false }],
    ['a standstill', { ...sure, deliberate: true }, { k: 4, deliberate: true }],
  ] as const)('plans for %s', ([, situation, plan]) => {
    expect(schedule(situation, defaults)).toEqual(plan);
  });

  it('looks at risk before the fast path: a sure ranking does not hurry a risky step', () => {
    expect(schedule({ ...sure, risk: 0.9 }, defaults)).toEqual({ k: 4, deliberate: true });
  });

  it('does not act upon an unconfirmed risk', () => {
    expect(schedule({ ...sure, risk: null }, { ...defaults, riskThreshold: 0 })).toEqual({ k: 1, deliberate: false });
  });

  it('never compares fewer than one or more than kMax', () => {
    fc.assert(
      fc.property(situations, settings, (situation, compute) => {
        const { k } = schedule(situation, compute);
        expect(k).toBeGreaterThanOrEqual(1);
        expect(k).toBeLessThanOrEqual(compute.kMax);
      }),
    );
  });

  it('never compares less because of more risk, and deliberates from some risk on', () => {
    const risks = fc.tuple(fc.double({ min: 0, max: 1, noNaN: true }), fc.double({ min: 0, max: 1, noNaN: true }));
    fc.assert(
      fc.property(situations, settings, risks, (situation, compute, [a, b]) => {
        const low = schedule({ ...situation, risk: Math.min(a, b) }, compute);
        const high = schedule({ ...situation, risk: Math.max(a, b) }, compute);
        expect(high.k).toBeGreaterThanOrEqual(low.k);
        expect(Number(high.deliberate)).toBeGreaterThanOrEqual(Number(low.deliberate));
      }),
    );
  });

  it('plans the same again when given its own plan', () => {
    fc.assert(
      fc.property(situations, settings, (situation, compute) => {
        const plan = schedule(situation, compute);
        expect(schedule({ ...situation, deliberate: plan.deliberate }, compute)).toEqual(plan);
      }),
    );
  });
});
