import { requestSecondsBuckets } from '@agentfleet/protocol/inference';
import { seededRandom } from '@agentfleet/kube/testing';
import { describe, expect, test } from 'vitest';
import { evaluateGate, type GateResult } from './index.ts';
import { armWith, latenciesOf } from './testing/evidence.ts';

const gate = { type: 'LatencyRatio', name: 'p95', bound: 1.2, minSamples: 200 } as const;

/** Times of a lognormal distribution with this median, seconds; the 95 % quantile is 2.28 medians. */
function times(count: number, median: number, random: () => number): readonly number[] {
  const normal = (): number => Math.sqrt(-2 * Math.log(1 - random())) * Math.cos(2 * Math.PI * random());
  return Array.from({ length: count }, () => median * Math.exp(0.5 * normal()));
}

const look = (canary: readonly number[], stable: readonly number[], bounds: readonly number[] = requestSecondsBuckets): GateResult =>
  evaluateGate(gate, armWith({ latencies: latenciesOf(canary, bounds) }), armWith({ latencies: latenciesOf(stable, bounds) }));

describe('the time until an answer beside that of the stable revision', () => {
  test.each([
    ['more than twice as long, in one coarse bucket', 11.5, 4.8, 'Fail'],
    ['5 % longer, on the two sides of a bound', 4.5, 4.2, 'Pass'],
    ['as long', 0.02, 0.02, 'Pass'],
    ['half as long', 1, 2, 'Pass'],
    ['19 % longer, which many more requests would show', 1.19, 1, 'Inconclusive'],
  ] as const)('%s: %s s beside %s s', (_, canary, stable, verdict) => {
    expect(look(times(5000, canary, seededRandom(1)), times(10_000, stable, seededRandom(2))).verdict).toBe(verdict);
  });

  test('is told in buckets that an engine chose as well', () => {
    const vllm = [0.3, 0.5, 0.8, 1, 1.5, 2, 2.5, 5, 10, 15, 20, 30, 40, 50, 60, 120, 240];
    expect(look(times(5000, 11.5, seededRandom(1)), times(5000, 4.8, seededRandom(2)), vllm).verdict).toBe('Fail');
    expect(look(times(5000, 4.8, seededRandom(1)), times(5000, 4.8, seededRandom(2)), vllm).verdict).toBe('Pass');
  });

  test('is unknown beyond the last bucket, whichever revision it is', () => {
    const [slow, quick] = [times(500, 40, seededRandom(1)), times(500, 1, seededRandom(2))];
    for (const arms of [
      [slow, slow],
      [slow, quick],
      [quick, slow],
    ] as const) {
      const result = look(...arms, [1, 10, 60]);
      expect(result).toMatchObject({ verdict: 'InsufficientData', value: undefined });
      expect(result.message).toContain('60 s');
    }
  });

  test('hardly ever leads back an equal revision, also where its quantile is at a bound, and few requests pass none that is far slower', () => {
    const verdicts = (canary: number): readonly string[] => {
      const random = seededRandom(5);
      return Array.from({ length: 300 }, () => look(times(200, canary, random), times(400, 4.385, random)).verdict);
    };
    expect(verdicts(4.385).filter((verdict) => verdict === 'Fail')).toHaveLength(0);
    expect(verdicts(4.385 * 1.6).filter((verdict) => verdict === 'Pass')).toHaveLength(0);
  });
});
