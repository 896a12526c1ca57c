import { describe, expect, it } from 'vitest';
import { sizes, tensorNames } from '../../inference-image/src/models/planner/network.ts';
import { Random } from '../numeric/random.ts';
import { emptyGradients, learn, type Lesson } from './backward.ts';
import { initialWeights } from './train.ts';

const random = new Random(3);
const vector = (): Float32Array => Float32Array.from({ length: sizes.inputs }, () => random.normal());
const count = 18;
const lesson: Lesson = {
  steps: Array.from({ length: count }, vector),
  next: Array.from({ length: count }, (_, at) => (at % 3 === 0 ? vector() : null)),
  targets: Array.from({ length: count }, (_, at) => ({ tool: at % 4, harm: at % 2 === 0, standstill: at % 5 === 0 ? null : at % 3 === 0 })),
};

describe('the gradient through two ticks', () => {
  it('is that of small differences, in each tensor', () => {
    const weights = initialWeights(random);
    const gradients = emptyGradients();
    learn(lesson, weights, gradients, 1);
    const loss = (): number => learn({ ...lesson }, weights, emptyGradients(), 1);
    for (const name of tensorNames.filter((name) => name !== 'experts')) {
      const gradient = gradients[name];
      // The entry that matters most: its difference stands out of the rounding of 32 bits.
      const at = gradient.reduce((best, value, i) => (Math.abs(value) > Math.abs(gradient[best] ?? 0) ? i : best), 0);
      const tensor = weights[name];
      const kept = tensor[at] as number;
      const step = 0.01;
      tensor[at] = kept + step;
      const above = loss();
      tensor[at] = kept - step;
      const below = loss();
      tensor[at] = kept;
      const expected = (gradient[at] as number) * 2 * step;
      expect(Math.abs(above - below - expected), name).toBeLessThan(Math.max(0.02 * Math.abs(expected), 1e-4));
    }
  });
});
