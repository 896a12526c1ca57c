import { describe, expect, test } from 'vitest';
import { assertNoLeak, calibrationGate, seeded, type Scored } from './index.ts';

const example = (problem: string, content: string): { problem: string; content: string } => ({ problem, content });

describe('assertNoLeak', () => {
  const train = [example('sum', 'def add(a, b):\n    return a + b\n'), example('max', "print('max')"), example('none', '')];

  test('accepts problems and contents that are apart', () => {
    expect(() => assertNoLeak(train, [example('min', 'print("min")'), example('empty', '')])).not.toThrow();
  });

  test('refuses a problem that is in both halves', () => {
    expect(() => assertNoLeak(train, [example('sum', 'other')])).toThrow(/1 of 1 items: problem sum is in both; split by problem/);
  });

  test('refuses content that was copied and touched up', () => {
    const copied = example('total', 'DEF add(a, b):\r\n  return a + b');
    expect(() => assertNoLeak(train, [example('min', 'x'), copied])).toThrow(/1 of 2 items: total has the content of sum/);
    expect(() => assertNoLeak(train, [example('quote', 'print("max")')])).toThrow(/quote has the content of max/);
  });
});

describe('calibrationGate', () => {
  const random = seeded(11);
  const honest: Scored[] = Array.from({ length: 2000 }, () => {
    const score = random();
    return { score, right: random() < score };
  });
  const gate = (items: readonly Scored[], maxEce = 0.05): ReturnType<typeof calibrationGate> =>
    calibrationGate(items, { maxEce, random: seeded(1) });

  test('passes calibrated probabilities', () => {
    const report = gate(honest);
    expect(report).toMatchObject({ passed: true, why: '', items: 2000 });
    expect(report.ece.low).toBeLessThanOrEqual(report.ece.high);
  });

  test('refuses overconfident ones', () => {
    const sure = honest.map(({ score, right }) => ({ score: score > 0.5 ? Math.min(1, score + 0.2) : Math.max(0, score - 0.2), right }));
    expect(gate(sure, 0.1)).toMatchObject({
      passed: false,
      why: expect.stringMatching(/calibration error is 0\.1\d+, above 0\.1/) as string,
    });
  });

  test('refuses labels that were flipped', () => {
    expect(gate(honest.map(({ score, right }) => ({ score, right: !right }))).passed).toBe(false);
  });

  test('refuses too few items, none, and one class', () => {
    expect(gate(honest.slice(0, 20)).why).toMatch(/20 items are too few, 100 are needed/);
    expect(gate([]).why).toMatch(/0 items are too few/);
    expect(gate(honest.map(() => ({ score: 1, right: true }))).why).toMatch(/all items are of one class/);
  });
});
